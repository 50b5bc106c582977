"""Data sets with a name: what is known about them and where they are published."""

from __future__ import annotations

from dataclasses import dataclass

from cear.data.draft import TextRule

_KG_BERT = "https://raw.githubusercontent.com/yao8839836/kg-bert/master/data"


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
    """A data set with a name: how its texts are read, and its published files (none: it ships with us)."""

    about: str
    text: TextRule = "name"
    files: tuple[Published, ...] = ()


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
}
