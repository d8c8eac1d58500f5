"""The MIMIC-IV cohort, on a miniature of the same layout that is made here. No row of MIMIC-IV is in this file."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from seepage._core import InputError
from seepage.data import mimic_frame, mimic_splits, open_dataset
from seepage.data.charlson import GROUPS, groups_of
from seepage.data.mimic import CATEGORICAL, FACTS

ADMISSION = (
    "subject_id", "hadm_id", "admittime", "dischtime", "deathtime", "admission_type", "admit_provider_id",
    "admission_location", "discharge_location", "insurance", "language", "marital_status", "race", "edregtime",
    "edouttime", "hospital_expire_flag",
)  # fmt: skip


def admission(subject: int, stay: int, start: str, end: str, **more: object) -> dict[str, object]:
    usual: dict[str, object] = {
        "subject_id": subject, "hadm_id": stay, "admittime": start, "dischtime": end, "deathtime": None,
        "admission_type": "EW EMER.", "admit_provider_id": "P1", "admission_location": "EMERGENCY ROOM",
        "discharge_location": "HOME", "insurance": "Medicare", "language": "English", "marital_status": "MARRIED",
        "race": "WHITE", "edregtime": None, "edouttime": None, "hospital_expire_flag": 0,
    }  # fmt: skip
    return usual | more


def write(
    folder: Path,
    patients: list[dict[str, object]],
    stays: list[dict[str, object]],
    codes: list[tuple[object, ...]],
    zipped: bool = False,
) -> Path:
    hosp = folder / "hosp"
    hosp.mkdir()
    tables = {
        "patients": pl.DataFrame(patients),
        "admissions": pl.DataFrame(
            stays, schema_overrides=dict.fromkeys(("deathtime", "edregtime", "edouttime"), pl.String)
        ).select(ADMISSION),
        "diagnoses_icd": pl.DataFrame(
            codes,
            schema={
                "subject_id": pl.Int64,
                "hadm_id": pl.Int64,
                "seq_num": pl.Int64,
                "icd_code": pl.String,
                "icd_version": pl.Int64,
            },
            orient="row",
        ),
    }
    for name, table in tables.items():
        text = table.write_csv().encode()
        if zipped:
            (hosp / f"{name}.csv.gz").write_bytes(gzip.compress(text))
        else:
            (hosp / f"{name}.csv").write_bytes(text)
    return folder


def patient(subject: int, age: int = 60, year: int = 2150, gender: str = "F") -> dict[str, object]:
    return {
        "subject_id": subject, "gender": gender, "anchor_age": age, "anchor_year": year,
        "anchor_year_group": "2014 - 2016", "dod": None,
    }  # fmt: skip


@pytest.fixture
def one_patient(tmp_path: Path) -> Path:
    """Three stays: heart failure is coded in the first, cancer in the second, HIV in the third."""
    stays = [
        admission(1, 11, "2150-01-01 10:00:00", "2150-01-05 10:00:00"),
        admission(1, 12, "2150-01-20 08:30:00", "2150-01-22 08:30:00",
                  edregtime="2150-01-20 05:30:00", admission_type="ELECTIVE"),
        admission(1, 13, "2153-06-01 23:00:00", "2153-06-09 11:00:00",
                  hospital_expire_flag=1, discharge_location="DIED",
                  deathtime="2153-06-09 11:00:00", edregtime="2153-06-02 01:00:00"),
    ]  # fmt: skip
    codes = [(1, 11, 1, "I5021", 10), (1, 11, 2, "0389", 9), (1, 12, 1, "C349", 10), (1, 13, 1, "B20", 10)]
    return write(tmp_path, [patient(1)], stays, codes)


def cell(frame: pl.DataFrame, stay: int, name: str) -> object:
    return frame.filter(pl.col("hadm_id") == str(stay))[name].item()


def test_an_earlier_diagnosis_counts_and_the_current_one_does_not(one_patient: Path) -> None:
    frame = mimic_frame(one_patient)
    heart = [cell(frame, stay, "history_heart_failure") for stay in (11, 12, 13)]
    cancer = [cell(frame, stay, "history_malignancy") for stay in (11, 12, 13)]
    virus = [cell(frame, stay, "history_hiv") for stay in (11, 12, 13)]
    assert (heart, cancer, virus) == ([0, 1, 1], [0, 0, 1], [0, 0, 0])
    assert [cell(frame, stay, "history_icd10_I50") for stay in (11, 12, 13)] == [0, 1, 1]
    assert "history_icd10_B20" not in frame.columns
    assert [cell(frame, stay, "previous_diagnoses") for stay in (11, 12, 13)] == [0, 2, 3]


def test_a_stay_that_has_not_ended_is_no_history(tmp_path: Path) -> None:
    stays = [
        admission(1, 11, "2150-01-01 10:00:00", "2150-03-01 10:00:00"),
        admission(1, 12, "2150-02-01 10:00:00", "2150-02-02 10:00:00"),
    ]
    frame = mimic_frame(write(tmp_path, [patient(1)], stays, [(1, 11, 1, "I50", 10), (1, 12, 1, "C34", 10)]))
    assert frame["previous_admissions"].to_list() == [0, 0]
    assert frame["history_heart_failure"].to_list() == [0, 0]


def test_what_the_stay_itself_brings_changes_nothing(tmp_path: Path, one_patient: Path) -> None:
    """The last stay with another end, another outcome and other diagnoses gives the same inputs."""
    other = tmp_path / "other"
    other.mkdir()
    stays = pl.read_csv(one_patient / "hosp" / "admissions.csv").to_dicts()
    stays[2] |= {"dischtime": "2153-06-03 11:00:00", "discharge_location": "HOME", "hospital_expire_flag": 0,
                 "deathtime": None, "edouttime": "2153-06-02 03:00:00"}  # fmt: skip
    codes = [(1, 11, 1, "I5021", 10), (1, 11, 2, "0389", 9), (1, 12, 1, "C349", 10), (1, 13, 1, "K25", 10)]
    inputs = [*CATEGORICAL, *FACTS]
    first, second = mimic_frame(one_patient), mimic_frame(write(other, [patient(1)], stays, codes))
    assert first.drop("died_in_hospital").equals(second.drop("died_in_hospital"))
    assert first["died_in_hospital"].to_list() == [0, 0, 1]
    assert second["died_in_hospital"].to_list() == [0, 0, 0]
    assert set(inputs) < set(first.columns)


def test_age_hours_and_history_numbers(one_patient: Path) -> None:
    frame = mimic_frame(one_patient)
    assert [cell(frame, stay, "age") for stay in (11, 12, 13)] == [60, 60, 63]
    assert [cell(frame, stay, "hour") for stay in (11, 12, 13)] == [10, 8, 23]
    # Registered after the admission: not known at the door.
    assert [cell(frame, stay, "hours_in_emergency") for stay in (11, 12, 13)] == [0, 3, 0]
    assert [cell(frame, stay, "previous_admissions") for stay in (11, 12, 13)] == [0, 1, 2]
    assert [cell(frame, stay, "previous_emergencies") for stay in (11, 12, 13)] == [0, 1, 1]
    assert [cell(frame, stay, "admissions_last_month") for stay in (11, 12, 13)] == [0, 1, 0]
    assert [cell(frame, stay, "previous_days") for stay in (11, 12, 13)] == [0, 4, 6]
    assert cell(frame, 12, "days_since_discharge") == pytest.approx(14.92, abs=0.05)
    assert cell(frame, 11, "weekday") == "Thu"


def many(folder: Path, zipped: bool = False) -> Path:
    generator = np.random.default_rng(0)
    patients, stays, codes = [], [], []
    for subject in range(100, 180):
        patients.append(patient(subject, age=int(generator.integers(14, 90)), gender=str(generator.choice(["F", "M"]))))
        for visit in range(int(generator.integers(1, 6))):
            stay, month = subject * 10 + visit, 1 + 2 * visit
            died = int(subject % 7 == 0 and visit == 0)
            stays.append(
                admission(subject, stay, f"2150-{month:02d}-03 12:00:00", f"2150-{month:02d}-07 12:00:00",
                          hospital_expire_flag=died, race=str(generator.choice(["WHITE", "BLACK", "ASIAN"])),
                          insurance=generator.choice(["Medicare", "Medicaid", None]))
            )  # fmt: skip
            codes += [
                (subject, stay, place, code, 10)
                for place, code in enumerate(generator.choice(["I50", "E119", "C349", "N18", "J44"], 2))
            ]
    return write(folder, patients, stays, codes, zipped)


def test_splits_never_share_a_patient(tmp_path: Path) -> None:
    folder = many(tmp_path)
    frame, schema = open_dataset("mimic_iv", source="file", path=folder)
    assert {column.name for column in schema.categorical} == set(CATEGORICAL)
    assert len(schema.numeric) == len(FACTS) + len(GROUPS) + 5
    assert {dropped.name for dropped in schema.dropped} == {"subject_id", "hadm_id"}
    # The row number as the only number shows which rows went where.
    parts = mimic_splits(frame.with_columns(age=pl.int_range(frame.height)), schema, np.random.default_rng(0))
    place = [column.name for column in schema.numeric].index("age")
    rows = [part.numbers[:, place].astype(int) for part in (parts.train, parts.validation, parts.test)]
    subjects = [set(frame["subject_id"].gather(part).to_list()) for part in rows]
    assert sorted(np.concatenate(rows)) == list(range(frame.height))
    assert sum(map(len, subjects)) == len(set.union(*subjects)) == frame["subject_id"].n_unique()
    assert len(rows[0]) / frame.height == pytest.approx(0.7, abs=0.06)


def test_children_are_left_out_and_zipped_files_are_read(tmp_path: Path) -> None:
    frame = mimic_frame(many(tmp_path, zipped=True) / "hosp")
    assert frame["age"].min() >= 18  # type: ignore[operator]


def test_the_sample_is_bounded_by_whole_patients_and_repeatable(tmp_path: Path) -> None:
    folder = many(tmp_path)
    whole, sample = mimic_frame(folder), mimic_frame(folder, rows=50, seed=3)
    assert sample.height == 50
    assert sample.equals(mimic_frame(folder, rows=50, seed=3))
    assert not sample.equals(mimic_frame(folder, rows=50, seed=4))
    counts = whole.group_by("subject_id").len().join(sample.group_by("subject_id").len(), on="subject_id")
    assert (counts["len"] != counts["len_right"]).sum() <= 1
    # History comes from all of a patient's stays, whether they are in the sample or not.
    shared = [name for name in sample.columns if name in whole.columns]
    assert (
        whole.select(shared)
        .join(sample.select(shared), on="hadm_id", how="semi")
        .sort("hadm_id")
        .equals(sample.select(shared).sort("hadm_id"))
    )


def test_a_wrong_folder_is_one_sentence(tmp_path: Path, one_patient: Path) -> None:
    with pytest.raises(InputError, match=r"it has no patients.csv or patients.csv.gz"):
        mimic_frame(tmp_path / "nowhere")
    with pytest.raises(InputError, match="There is no"):
        open_dataset("mimic_iv", source="file", path=tmp_path / "nowhere")
    (one_patient / "hosp" / "diagnoses_icd.csv").unlink()
    with pytest.raises(InputError, match=r"it has no diagnoses_icd.csv"):
        mimic_frame(one_patient)


def test_a_missing_column_and_a_broken_time_are_one_sentence(one_patient: Path) -> None:
    path = one_patient / "hosp" / "admissions.csv"
    text = path.read_text()
    path.write_text(text.replace("admittime", "arrival"))
    with pytest.raises(InputError, match="it has no column 'admittime'"):
        mimic_frame(one_patient)
    path.write_text(text.replace("2150-01-01 10:00:00", "yesterday"))
    with pytest.raises(InputError, match="cannot be read"):
        mimic_frame(one_patient)


def test_only_children_is_said(tmp_path: Path) -> None:
    folder = write(tmp_path, [patient(1, age=5)], [admission(1, 11, "2150-01-01 10:00:00", "2150-01-02 10:00:00")], [])
    with pytest.raises(InputError, match="no admission of a patient of at least 18"):
        mimic_frame(folder)


def test_mimic_says_that_it_needs_your_own_copy() -> None:
    with pytest.raises(InputError, match="--path PATH"):
        open_dataset("mimic_iv")


@pytest.mark.parametrize(
    ("code", "version", "groups"),
    [
        ("41071", 9, ["myocardial_infarction"]),
        ("I252", 10, ["myocardial_infarction"]),
        ("4280", 9, ["heart_failure"]),
        ("40493", 9, ["heart_failure", "renal"]),
        ("E1122", 10, ["diabetes_complicated"]),
        ("E119", 10, ["diabetes"]),
        ("25000", 9, ["diabetes"]),
        ("1970", 9, ["metastatic"]),
        ("C7951", 10, ["metastatic"]),
        ("173", 9, []),
        ("C44", 10, []),
        ("042", 9, ["hiv"]),
        ("I10", 10, []),
        ("Z00", 10, []),
    ],
)
def test_charlson_groups(code: str, version: int, groups: list[str]) -> None:
    assert groups_of(code, version) == groups
