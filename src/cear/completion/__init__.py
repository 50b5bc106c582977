"""From ranking to knowing: which questions to ask, which facts to propose, how likely each is, and who says so."""

from cear.completion.boosting import Fitted
from cear.completion.calibration import Calibrator, Sample
from cear.completion.collecting import (
    PROPOSALS,
    ask_part,
    asked,
    join_parts,
    judged,
    parts_of,
    read_proposals,
    write_proposals,
)
from cear.completion.config import CalibrationConfig
from cear.completion.counts import Counts, among, fact_keys
from cear.completion.export import FORMATS, About, refuse_format, write_accepted, write_table
from cear.completion.judgements import judged_probability, learn_from_judgements
from cear.completion.promises import Promise, promise
from cear.completion.proposals import Proposals
from cear.completion.questions import Expectation, Questions, plausible

__all__ = [
    "FORMATS",
    "PROPOSALS",
    "About",
    "CalibrationConfig",
    "Calibrator",
    "Counts",
    "Expectation",
    "Fitted",
    "Promise",
    "Proposals",
    "Questions",
    "Sample",
    "among",
    "ask_part",
    "asked",
    "fact_keys",
    "join_parts",
    "judged",
    "judged_probability",
    "learn_from_judgements",
    "parts_of",
    "plausible",
    "promise",
    "read_proposals",
    "refuse_format",
    "write_accepted",
    "write_proposals",
    "write_table",
]
