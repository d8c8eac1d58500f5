"""A recorder that is killed at any moment leaves a capture that can be read."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from seepage import captures

KILLS = 4
PROGRAM = """
import sys
import numpy as np
from seepage.captures.reading import Framework
from seepage.integrations.recording import Recorder

recorder = Recorder(
    sys.argv[1], framework=Framework(name="flower", version="1"), facts={"batch_size": 4, "learning_rate": 0.1}
)
drawn = np.random.default_rng(0)
print("begins", flush=True)
for number in range(1, 100):
    before = {"weight": drawn.normal(size=(300, 300)).astype("float32")}
    recorder.sent(number, lambda before=before: before)
    for client in range(3):
        after = {"weight": before["weight"] + np.float32(client + 1)}
        recorder.received(number, f"hospital-{client}", lambda after=after: after, size=360_000, rows=4)
recorder.close()
"""


def test_a_capture_is_whole_whenever_its_writer_is_killed(tmp_path: Path) -> None:
    drawn, seen = random.Random(0), []
    for number in range(KILLS):
        place = tmp_path / f"capture-{number}"
        program = subprocess.Popen([sys.executable, "-c", PROGRAM, str(place)], stdout=subprocess.PIPE)
        assert program.stdout is not None
        program.stdout.readline()
        until = time.monotonic() + drawn.uniform(0.0, 0.6)
        while time.monotonic() < until and program.poll() is None:
            time.sleep(0.005)
        program.kill()
        program.wait()
        program.stdout.close()
        if not (place / "capture.json").exists():  # killed before the first update was written
            seen.append(0)
            continue
        capture = captures.read(place)
        for entry in capture.entries:
            assert np.allclose(entry.update()["weight"], entry.update()["weight"].flat[0], atol=1e-3)
        seen.append(len(capture.entries))
    assert max(seen) > 0


def test_what_a_killed_writer_left_is_taken_up_by_the_next(tmp_path: Path) -> None:
    program = subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path / "capture")], stdout=subprocess.PIPE)
    assert program.stdout is not None
    program.stdout.readline()
    while not (tmp_path / "capture" / "capture.json").exists():
        assert program.poll() is None
        time.sleep(0.01)
    program.kill()
    program.wait()
    program.stdout.close()
    before = {"weight": np.zeros((300, 300), "float32")}
    held = len(captures.read(tmp_path / "capture").entries)
    captures.write(
        tmp_path / "capture", before=before, after={"weight": before["weight"] + 1}, client="later", round=500, rows=4,
        add=True,
    )  # fmt: skip
    assert len(captures.read(tmp_path / "capture").entries) == held + 1
    assert not list((tmp_path / "capture").rglob("*.tmp"))
