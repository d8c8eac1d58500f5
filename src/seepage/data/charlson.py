"""The Charlson groups of diagnoses by ICD-9-CM and ICD-10 prefixes (Quan and others, Medical Care 43,
2005).
"""

from __future__ import annotations

from collections.abc import Mapping

# Codes without their dots, as MIMIC-IV writes them; "430-438" is every prefix between the two.
GROUPS: Mapping[str, tuple[str, str]] = {
    "myocardial_infarction": ("410 412", "I21 I22 I252"),
    "heart_failure": (
        "39891 40201 40211 40291 40401 40403 40411 40413 40491 40493 4254 4255 4257-4259 428",
        "I099 I110 I130 I132 I255 I420 I425-I429 I43 I50 P290",
    ),
    "peripheral_vascular": (
        "0930 4373 440 441 4431-4439 4471 5571 5579 V434",
        "I70 I71 I731 I738 I739 I771 I790 I792 K551 K558 K559 Z958 Z959",
    ),
    "cerebrovascular": ("36234 430-438", "G45 G46 H340 I60-I69"),
    "dementia": ("290 2941 3312", "F00-F03 F051 G30 G311"),
    "chronic_pulmonary": ("4168 4169 490-505 5064 5081 5088", "I278 I279 J40-J47 J60-J67 J684 J701 J703"),
    "rheumatic": ("4465 7100-7104 7140-7142 7148 725", "M05 M06 M315 M32-M34 M351 M353 M360"),
    "peptic_ulcer": ("531-534", "K25-K28"),
    "mild_liver": (
        "07022 07023 07032 07033 07044 07054 0706 0709 570 571 5733 5734 5738 5739 V427",
        "B18 K700-K703 K709 K713-K715 K717 K73 K74 K760 K762-K764 K768 K769 Z944",
    ),
    "diabetes": (
        "2500-2503 2508 2509",
        "E100 E101 E106 E108 E109 E110 E111 E116 E118 E119 E120 E121 E126 E128 E129 E130 E131 E136 E138 E139 "
        "E140 E141 E146 E148 E149",
    ),
    "diabetes_complicated": (
        "2504-2507",
        "E102-E105 E107 E112-E115 E117 E122-E125 E127 E132-E135 E137 E142-E145 E147",
    ),
    "paraplegia": ("3341 342 343 3440-3446 3449", "G041 G114 G801 G802 G81 G82 G830-G834 G839"),
    "renal": (
        "40301 40311 40391 40402 40403 40412 40413 40492 40493 582 5830-5837 585 586 5880 V420 V451 V56",
        "I120 I131 N032-N037 N052-N057 N18 N19 N250 Z490-Z492 Z940 Z992",
    ),
    "malignancy": (
        "140-172 174-194 1950-1958 200-208 2386",
        "C00-C26 C30-C34 C37-C41 C43 C45-C58 C60-C76 C81-C85 C88 C90-C97",
    ),
    "severe_liver": ("4560-4562 5722-5728", "I850 I859 I864 I982 K704 K711 K721 K729 K765-K767"),
    "metastatic": ("196-199", "C77-C80"),
    "hiv": ("042-044", "B20-B22 B24"),
}


def _prefixes(text: str) -> tuple[str, ...]:
    """The prefixes of a list such as ``"410 430-438 I60-I69"``."""
    found: list[str] = []
    for part in text.split():
        first, _, last = part.partition("-")
        letter = first[:1] if first[:1].isalpha() else ""
        low, high = first[len(letter) :], (last or first)[len(letter) :]
        found += [f"{letter}{number:0{len(low)}d}" for number in range(int(low), int(high) + 1)]
    return tuple(found)


_TABLE = {
    version: {name: _prefixes(both[place]) for name, both in GROUPS.items()} for place, version in enumerate((9, 10))
}


def groups_of(code: str, version: int) -> list[str]:
    """The groups a diagnosis belongs to.

    Example:
        >>> groups_of("I5021", 10), groups_of("25040", 9), groups_of("25040", 10)
        (['heart_failure'], ['diabetes_complicated'], [])
    """
    return [name for name, prefixes in _TABLE.get(version, {}).items() if code.startswith(prefixes)]
