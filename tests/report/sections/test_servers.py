"""The sections of the study of cheating servers."""

from __future__ import annotations

from seepage.report import render
from seepage.report.level import Level
from seepage.report.sections.server_attacks import server_attacks
from seepage.report.sections.servers_verdict import verdict
from tests.report.example import Reader, a_servers_cell, a_servers_summary, plain, servers_records


def test_the_verdict_names_the_threat_model_and_what_was_read() -> None:
    found = verdict(a_servers_summary())
    assert found.level is Level.LEAKS
    headline = plain(found.headline)
    assert headline.startswith("A server that cheats, sending weights of its own making, read 100 % of 64 rows exactly")
    assert "90 % come with a proof" in headline
    assert any("architecture of its own" in sentence for sentence in found.sentences)
    assert any("miss some of these models (module)" in sentence for sentence in found.sentences)


def test_a_server_that_reads_nothing_is_no_proof() -> None:
    found = verdict(a_servers_summary(servers_records(a_servers_cell(), 0.0, clients=40)))
    assert found.level is Level.NOT_FOUND
    assert "no proof of safety" in found.meaning
    assert any("noticed every one" in sentence for sentence in found.sentences)


def test_attacks_stand_beside_what_a_client_could_notice() -> None:
    view = server_attacks(a_servers_summary())
    assert view is not None
    assert [line.checks for line in view.lines][-1] == "none"
    assert "neurons with the direction of another" in view.lines[0].checks
    assert len(view.figures) == 1
    assert len(view.notices) == 3
    text = Reader(render(a_servers_summary())).text
    assert "What a client could notice" in text
    assert "It can be seen." in text


def test_one_size_has_no_picture() -> None:
    view = server_attacks(a_servers_summary(servers_records(a_servers_cell(), 0.5)))
    assert view is not None
    assert view.figure is None
