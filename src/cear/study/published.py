"""What the paper prints, table by table, under its own labels: MRR as there, hits in percent."""

from __future__ import annotations

FB, WN, OLP = "fb15k-237", "wn18rr", "olpbench"
Printed = tuple[str | None, ...]

CKG: dict[str, dict[str, Printed]] = {
    "DistMult": {FB: ("0.24", "15.5", "41.9"), WN: ("0.43", "39.0", "49.0")},
    "ConvE": {FB: ("0.33", "23.7", "50.1"), WN: ("0.43", "40", "52")},
    "ComplEx-N3": {FB: ("0.37", "27", "56"), WN: ("0.48", "44", "57")},
    "CoPER-ConvE": {FB: ("0.43", "32.1", "62.9"), WN: ("0.48", "44", "56.1")},
    "KG-BERT": {FB: (None, None, "42.0"), WN: (None, None, "52.4")},
    "Pre-train KGE": {FB: ("0.34", None, "53.4"), WN: ("0.45", None, "58.0")},
    "ComplEx": {FB: ("0.32", "23", "51.3"), WN: ("0.47", "42.8", "55.5")},
    "RotatE": {FB: ("0.34", "23.8", "53.1"), WN: ("0.47", "42.3", "57.3")},
    "CEAR(ComplEx)": {FB: ("0.48", "42.2", "57.9"), WN: ("0.47", "43", "54.3")},
    "CEAR(RotatE)": {FB: ("0.45", "38.3", "56.7"), WN: ("0.49", "44.3", "56.5")},
}
"""Link prediction: MRR, H@1, H@10."""

OKG: dict[str, Printed] = {
    "ComplEx-LSTM": ("2.1", "7.0", "14.6"),
    "ExtremeText": ("6.4", "16.3", "26.0"),
    "CEAR(ComplEx-LSTM)": ("3.8", "9.1", "14.6"),
    "CEAR(ExtremeText)": ("7.4", "17.9", "26.0"),
}
"""Open link prediction on OLPBENCH: H@1, H@10, H@50."""

S1_ENTITIES: dict[str, tuple[str, ...]] = {FB: ("31.9", "37.2", "39.9", "42.2"), WN: ("43.9", "44.0", "44.1", "44.3")}
"""H@1 with 10, 20, 30, 40 candidates."""

ABLATION: dict[str, dict[str, Printed]] = {
    "best": {FB: ("42.2", "57.9"), WN: ("44.3", "56.5"), OLP: ("7.4", "17.9")},
    "no-pretraining": {FB: ("38.5", "56.2"), WN: ("42.7", "55.1"), OLP: ("6.0", "15.6")},
    "no-attention": {FB: ("23.2", "51.3"), WN: ("41.5", "57.3"), OLP: ("5.0", "16.3")},
    "no-ranks": {FB: ("24.8", "51.7"), WN: ("40.0", "61.3"), OLP: ("6.2", "16.8")},
}
"""H@1, H@10 of the best CEAR model and of those without a part."""

HEADTAIL: dict[str, Printed] = {
    FB: ("14.4", "31.0", "31.6", "54.3"),
    WN: ("40.8", "42.5", "43.8", "45.9"),
    OLP: ("4.8", "5.9", "8.1", "8.6"),
}
"""H@1 of Stage 1 and of CEAR for heads, then for tails."""

CONFUSION: dict[str, Printed] = {
    FB: ("23202", "8311", "251", "9168"),
    WN: ("3491", "125", "7", "2645"),
    OLP: ("19123", "572", "405", "922"),
}
"""Queries whose gold is first: never, after re-ranking alone, before it alone, always."""

PARAMS: dict[str, tuple[Printed, Printed]] = {
    FB: (("4.5 hrs", "0.5 mins", "30M"), ("20 hrs", "8 mins", "110M")),
    WN: (("3 hrs", "0.5 mins", "41M"), ("15 hrs", "1.5 mins", "110M")),
    OLP: (("4 hrs", "0.5 mins", "14644M"), ("25 hrs", "1.5 mins", "110M")),
}
"""Training time, inference time and parameters of Stage 1 and of CEAR."""

VALIDATION: dict[str, tuple[Printed, Printed]] = {
    FB: (("22.2", "45.5"), ("40.8", "51.9")),
    WN: (("42.8", "57.2"), ("44.7", "56.3")),
    OLP: (("6.7", "16.4"), ("7.2", "17.7")),
}
"""H@1, H@10 on validation of Stage 1 and of CEAR."""
