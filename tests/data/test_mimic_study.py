"""The profiling study's columns of MIMIC-IV, on a miniature of the same layout that is made here."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from seepage._core import InputError
from seepage.data import open_dataset
from seepage.data.mimic import TARGET
from seepage.data.mimic_study import CATEGORICAL, COUNTS, NUMBERS, mimic_study_frame
from tests.data.test_mimic import admission, cell, patient, write


def folder_of(place: Path, stays: list[dict[str, object]], codes: list[tuple[object, ...]]) -> Path:
    """With two drugs in every stay, one of its own and one of all, and a procedure in the first of all stays."""
    place.mkdir(exist_ok=True)
    folder = write(place, [patient(int(str(each))) for each in {stay["subject_id"] for stay in stays}], stays, codes)
    drugs = [(stay["hadm_id"], drug) for stay in stays for drug in ("Heparin", f"drug {stay['hadm_id']}")]
    pl.DataFrame(drugs, schema=["hadm_id", "drug"], orient="row").write_csv(folder / "hosp" / "prescriptions.csv")
    procedures = pl.DataFrame({"hadm_id": [stays[0]["hadm_id"]], "icd_code": ["0DJD8ZZ"], "icd_version": [10]})
    procedures.write_csv(folder / "hosp" / "procedures_icd.csv")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    stays = [
        admission(1, 11, "2150-01-01 10:00:00", "2150-03-05 10:00:00"),
        admission(1, 12, "2150-01-20 08:30:00", "2150-01-22 08:30:00",
                  edregtime="2150-01-20 05:30:00", edouttime="2150-01-20 07:00:00", hospital_expire_flag=1),
        admission(1, 13, "2150-01-20 08:30:00", "2150-01-21 08:30:00"),
        admission(2, 21, "2151-01-01 10:00:00", "2151-01-02 10:00:00"),
    ]  # fmt: skip
    codes = [(1, 11, 1, "I5021", 10), (1, 11, 2, "0389", 9), (1, 12, 1, "C349", 10), (2, 21, 1, "C349", 10)]
    return folder_of(tmp_path, stays, codes)


def test_history_is_of_stays_that_began_strictly_before(folder: Path) -> None:
    frame = mimic_study_frame(folder)
    assert [cell(frame, stay, "previous_admissions") for stay in (11, 12, 13, 21)] == [0, 1, 1, 0]
    assert [cell(frame, stay, "diagnosis_10_I5021") for stay in (11, 12, 13, 21)] == [0, 1, 1, 0]
    assert [cell(frame, stay, "diagnosis_10_C349") for stay in (11, 12, 13, 21)] == [0, 0, 0, 0]
    assert [cell(frame, stay, "medication_Heparin") for stay in (11, 12, 13, 21)] == [0, 1, 1, 0]
    counts = {name: [cell(frame, stay, name) for stay in (11, 12, 13)] for name in COUNTS}
    assert counts == {
        "previous_diagnoses": [0, 2, 2], "previous_medications": [0, 2, 2], "previous_procedures": [0, 1, 1],
    }  # fmt: skip


def test_what_is_known_at_the_door(folder: Path) -> None:
    frame = mimic_study_frame(folder)
    names = ("hour", "weekday", "came_by_emergency", "hours_in_emergency", "hours_from_emergency", TARGET)
    assert [cell(frame, 12, name) for name in names] == [8, 1, 1, 1.5, 3.0, 1]  # a Tuesday
    assert [cell(frame, 11, name) for name in names[2:]] == [0, 0.0, 0.0, 0]
    assert cell(frame, 21, "anchor_year_group") == "2014 - 2016"


def test_the_most_frequent_become_flags(folder: Path) -> None:
    frame = mimic_study_frame(folder, kept=1)
    flags = [name for name in frame.columns if name.startswith(("diagnosis_", "medication_"))]
    assert flags == ["diagnosis_10_C349", "medication_Heparin"]
    assert len(mimic_study_frame(folder, kept=0).columns) == 3 + len(CATEGORICAL) + len(NUMBERS) + len(COUNTS)


def test_a_sample_keeps_the_share_of_deaths_and_the_history_of_all(tmp_path: Path) -> None:
    stays = [
        admission(subject, 100 * subject + stay, f"21{50 + stay}-01-01 10:00:00", f"21{50 + stay}-01-02 10:00:00",
                  hospital_expire_flag=int(subject % 5 == 0 and stay == 3))
        for subject in range(1, 51) for stay in (1, 2, 3)
    ]  # fmt: skip
    folder = folder_of(tmp_path / "many", stays, [(1, 101, 1, "I10", 10)])
    frame = mimic_study_frame(folder, rows=75)
    assert (frame.height, frame[TARGET].sum()) == (75, 5)
    assert frame.equals(mimic_study_frame(folder, rows=75))
    assert not frame.equals(mimic_study_frame(folder, rows=75, seed=1))
    third = frame.filter(pl.col("hadm_id").str.ends_with("3"))
    assert set(third["previous_admissions"]) == {2}


def test_it_is_a_data_set_of_ours(folder: Path) -> None:
    frame, schema = open_dataset("mimic_iv_study", source="file", path=folder)
    assert (schema.target.name, len(schema.categorical)) == (TARGET, 8)
    assert frame.height == 4
    (folder / "hosp" / "prescriptions.csv").unlink()
    with pytest.raises(InputError, match="no prescriptions"):
        open_dataset("mimic_iv_study", source="file", path=folder)
