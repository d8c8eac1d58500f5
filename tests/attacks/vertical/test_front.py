"""Pictures behind a convolution: steps I and II in closed form, then the data behind the local parts."""

from __future__ import annotations

import torch

from seepage._core import Streams
from seepage.attacks.vertical.closed_form import ClosedForm
from seepage.attacks.vertical.front import behind_front, has_front
from seepage.data import Layout
from seepage.federation.vertical.shared import SharedLayers
from seepage.metrics import psnr
from seepage.models import make_learner, tableak_mlp
from seepage.models.quadrants import QuadrantNet
from seepage.observation import Space
from seepage.observation.vertical import VerticalScene


def test_pictures_are_recovered_through_the_workers_convolutions() -> None:
    learner = make_learner(QuadrantNet(width=32), 784, (), "multiclass", 3, seed=0)
    x = torch.rand(10, 784, generator=torch.Generator().manual_seed(0))
    scene = VerticalScene(learner=learner, rows=10, batch_size=3, space=Space(layout=Layout(784, ())))
    assert has_front(scene)
    solver = ClosedForm().start(scene)
    for update in SharedLayers(batch_size=3).stream(learner, x, torch.arange(10) % 3, 25, Streams(0)):
        solver.see(update)
    found = solver.recover()
    assert bool(found.determined.all())
    assert psnr(behind_front(scene, learner.initial(), found).numpy(), x.numpy()) > 40


def test_tables_have_no_front() -> None:
    learner = make_learner(tableak_mlp(), 3, (2,), "binary", 2, seed=0)
    assert not has_front(VerticalScene(learner=learner, rows=9, batch_size=3, space=Space(layout=Layout(3, (2,)))))
