"""Data sets with a name: what is known about them and where they are published."""

from __future__ import annotations

from dataclasses import dataclass

from cear.data.draft import TextRule

_KG_BERT = "https://raw.githubusercontent.com/yao8839836/kg-bert/master/data"
_CARE = "https://raw.githubusercontent.com/malllabiisc/CaRE/3e9334d2ddb73a3210e38806554c20af306e73cd/Data/ReVerb45K"
_MOKB6 = "https://raw.githubusercontent.com/dair-iitd/mokb6/7aed1a1443ad349cc4a29468757d0d1e91b38724/mokb6/mono/mono_en"


@dataclass(frozen=True, slots=True)
class Published:
    """A file as somebody publishes it: our name for it, its address, and the SHA-256 of its text.

    The sum is taken with every line end as a bare line feed, for that is how copies of these files differ.
    """

    name: str
    address: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Named:
    """A data set with a name: how its texts are read, and where it comes from."""

    about: str
    text: TextRule = "name"
    files: tuple[Published, ...] = ()
    """What a download fetches."""
    archive: str | None = None
    """The address of an archive too large to be fetched unasked-for; the user unpacks it."""
    home: str | None = None
    """Where its authors publish it, in files of another layout than ours; the user makes the folder."""

    @property
    def embedded(self) -> bool:
        """Whether it ships with us."""
        return not self.files and self.archive is None and self.home is None


NAMED: dict[str, Named] = {
    "demo": Named("the geography inside this package"),
    "fb15k-237": Named(
        "FB15K-237 (Toutanova and Chen 2015) with the texts of KG-BERT",
        text="name",  # names hold commas: "Paris, Texas"
        files=(
            Published(
                "train.txt",
                f"{_KG_BERT}/FB15k-237/train.tsv",
                "61099230e4439f90885ca9767739e31e8e32f54736fa1c35952b27997bc7c08a",
            ),
            Published(
                "valid.txt",
                f"{_KG_BERT}/FB15k-237/dev.tsv",
                "749cbe9d923bac7b9354da5614ecfed2e0220256d442c3e04a6b303db1f273d9",
            ),
            Published(
                "test.txt",
                f"{_KG_BERT}/FB15k-237/test.tsv",
                "e2e35e8e6113de220140b6f44dc71a5207b0fc6872d575e874aefe13259b655b",
            ),
            Published(
                "entity2text.txt",
                f"{_KG_BERT}/FB15k-237/entity2text.txt",
                "16beedcfad3d32696e8b0b98cfa0f5eeb144f5142225f227a64fd9ce37447da5",
            ),
            Published(
                "relation2text.txt",
                f"{_KG_BERT}/FB15k-237/relation2text.txt",
                "4bf7cb6ea0ac09b17ad210889f723be5e079669f6ae5d507787e1320bbaa0f72",
            ),
        ),
    ),
    "wn18rr": Named(
        "WN18RR (Dettmers et al. 2018) with the texts of KG-BERT",
        text="name, description",  # "stool, solid excretory product evacuated from the bowels"
        files=(
            Published(
                "train.txt",
                f"{_KG_BERT}/WN18RR/train.tsv",
                "038612e783c215ee5f3ca9fbfca27b8d0739be1028fe4ee7c174aecf0b83d5df",
            ),
            Published(
                "valid.txt",
                f"{_KG_BERT}/WN18RR/dev.tsv",
                "453ce7202afa58094a04d2b1560ee2b02660f1c260b32ce6651c8ccedd1028ab",
            ),
            Published(
                "test.txt",
                f"{_KG_BERT}/WN18RR/test.tsv",
                "0383bceaaa1096cf3c03ec021ed0048068e2355dbfc0239b292cefdac821cec5",
            ),
            Published(
                "entity2text.txt",
                f"{_KG_BERT}/WN18RR/entity2text.txt",
                "8f5c6f11753dafa879917b9bdf73d398ceb3bd4bed8d5553177e1e0f2c37521f",
            ),
            Published(
                "relation2text.txt",
                f"{_KG_BERT}/WN18RR/relation2text.txt",
                "91b1de5585d686ed31498d50f1c4eed44ba9486dffbbcc0c28927ac884184918",
            ),
        ),
    ),
    "fb15k-237-n": Named(
        "FB15K-237-N (Lv et al. 2022), FB15K-237 without the facts of mediator nodes, with facts that people judged",
        text="name, description",  # "Paris, capital and largest city of France"
        home="https://github.com/THU-KEG/PKGC",
    ),
    "codex-m": Named(
        "CoDEx-M (Safavi and Koutra 2020), of Wikidata, with types of entities and facts that people judged false",
        home="https://github.com/tsafavi/codex",
    ),
    "reverb45k": Named(
        "ReVerb45K (CaRe, Gupta et al. 2019), an open knowledge base with gold clusters of mentions",
        files=(
            Published(
                "ent2id.txt",
                f"{_CARE}/ent2id.txt",
                "388796ef9fadc89e83a1ce49b799ae75e7dda0e8bc6bd7e11c0290af8495bd85",
            ),
            Published(
                "rel2id.txt",
                f"{_CARE}/rel2id.txt",
                "8d489d6b46cfcee47b844ea122a81507ddc635f10b43bde098812a1aca5f1830",
            ),
            Published(
                "train_trip.txt",
                f"{_CARE}/train_trip.txt",
                "e8cd8c059d7e14b7e2f40ee75c4ba017fcf48ab5cfc10998932035643c566f63",
            ),
            Published(
                "valid_trip.txt",
                f"{_CARE}/valid_trip.txt",
                "42b07382451246ee26ea8cced94cd280cd2296845faf5a0732424aec4b8d00f4",
            ),
            Published(
                "test_trip.txt",
                f"{_CARE}/test_trip.txt",
                "bcdf3887678eaf2405bbdbb53148c75682faf6595d5f82e6f86c54ba738ac28e",
            ),
            Published(
                "gold_npclust.txt",
                f"{_CARE}/gold_npclust.txt",
                "c66acb753f2f757355f5ab54ee1f0fd9c1384d35ea4f03bf68cbf592251c7d9c",
            ),
        ),
    ),
    "mokb6-en": Named(
        "the English part of mOKB6 (Mittal et al. 2023), an open knowledge base",
        files=(
            Published(
                "train.txt",
                f"{_MOKB6}/train.txt",
                "12abcad9fe61be8dc0e6b70effe366be15d2b1ea17521bf08ff00016a09f36fd",
            ),
            Published(
                "valid.txt",
                f"{_MOKB6}/valid.txt",
                "9576b07d1e775fbd3cb3967397782d576962c429160cb1bc87ff66e08a8e538b",
            ),
            Published(
                "test.txt",
                f"{_MOKB6}/test.txt",
                "20d35db510ac283e584968fa8f0d9baccf40c57f00cfc27b95344872ba8c6026",
            ),
        ),
    ),
    "olpbench": Named(
        "OLPBENCH (Broscheit et al. 2020), an open knowledge base of 30 million facts",
        archive="http://data.dws.informatik.uni-mannheim.de/olpbench/olpbench.tar.gz",  # 2.4 GB
    ),
}
