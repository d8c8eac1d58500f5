"""Attacks by name.

Long because it lists all of them.
"""

from __future__ import annotations

from functools import partial

from seepage.attacks import Exact, inversion
from seepage.attacks.adaptive import Adaptive
from seepage.attacks.pursuit import Pursuit
from seepage.attacks.totals import Counting, Listing
from seepage.attacks.vertical.cafe import Cafe
from seepage.attacks.vertical.closed_form import ClosedForm
from seepage.attacks.vertical.one_by_one import OneByOne
from seepage.attacks.vertical.slopes import Slopes
from seepage.attacks.vertical.spans import Spans
from seepage.plans.part import Part

_UPDATE = "one client's update and the model; labels if known, else dummies"
_JOINT = "one client's update and the model; labels if known, else they are variables"
_SCALED = _UPDATE + "; with standardised one-hot inputs also the statistics (--global-statistics)"
_TABLEAK = "Vero et al., Data Leakage in Tabular Federated Learning, 2022 (TabLeak)"
_STUDY = "Nilsson et al., Profiling privacy preservation, 2026 (the profiling study)"
_DLG = "Zhu et al., Deep Leakage from Gradients, NeurIPS 2019"
_GRADINVERSION = "Yin et al., See Through Gradients, CVPR 2021"
_SAPAG = "Wang et al., SAPAG: A Self-Adaptive Privacy Attack From Gradients, 2020"
_GEIPING = "Geiping et al., Inverting Gradients, NeurIPS 2020"
_CAFE = "Jin et al., CAFE: Catastrophic Data Leakage in Vertical Federated Learning, NeurIPS 2021"
_BATCHES = "batch indices, weights and aggregated gradients of many batches"

ROWS = (
    Part(
        name="exact",
        make=Exact,
        works_on=("rows",),
        about="Reads rows by algebra, proves which are right, and optimises the rest as `fast` does. The default.",
        needs="one client's update and the model; with standardised one-hot inputs also the statistics "
        "(--global-statistics)",
        paper="Seepage (docs/explanation/exact-inversion.md)",
        joins_rounds=True,
    ),
    Part(
        name="pursuit",
        make=Pursuit,
        works_on=("rows",),
        about="For more rows than any layer is wide: chooses rows among those that many optimisations end at, by what "
        "one round or several sent. Minutes; proves nothing.",
        needs=_SCALED,
        paper="Seepage (docs/explanation/exact-inversion.md)",
        joins_rounds=True,
    ),
    Part(
        name="presence",
        make=Listing,
        works_on=("rows",),
        about="Lists the categories that somebody has and those that nobody has, at any number of rows, for any "
        "optimiser.",
        needs="one client's update and the model",
        paper="Seepage (docs/explanation/exact-inversion.md)",
    ),
    Part(
        name="counts",
        make=Counting,
        works_on=("rows",),
        about="Estimates how many rows have each category, with intervals; labels and means where they are not known.",
        needs="one client's update and the model; it makes clients up to learn from",
        paper="Seepage (docs/explanation/exact-inversion.md)",
    ),
    Part(
        name="fast",
        make=inversion.fast,
        works_on=("rows",),
        about="TabLeak's ensemble with a start from marginals and L-BFGS: its accuracy in a third of the steps.",
        needs=_SCALED,
        paper="Seepage, after " + _TABLEAK,
    ),
    Part(
        name="adaptive",
        make=Adaptive,
        works_on=("rows",),
        about="`fast` for somebody who knows the defence's settings, then rows drawn from what noise, rounding or "
        "missing entries leave possible.",
        needs=_SCALED + "; marginals as far as the statistics tell them",
        paper="Seepage (docs/how-to/defences.md)",
    ),
    Part(
        name="fast_single",
        make=inversion.fast_single,
        works_on=("rows",),
        about="One restart of `fast` with 1,000 steps, for models whose steps are dear (FT-Transformer).",
        needs=_SCALED,
        paper="Seepage, after " + _TABLEAK,
    ),
    Part(
        name="gradient_matching",
        make=inversion.gradient_matching,
        works_on=("rows",),
        about="Cosine gradient matching: one run, Adam with linear decay, 10,000 steps.",
        needs=_UPDATE,
        paper=_STUDY,
    ),
    Part(
        name="gradient_matching_simplex",
        make=inversion.gradient_matching_simplex,
        works_on=("rows",),
        about="The same with embedded categories on the probability simplex instead of logits.",
        needs=_UPDATE,
        paper=_STUDY,
    ),
    Part(
        name="profiling",
        make=inversion.profiling,
        works_on=("rows",),
        about="Cosine gradient matching as the profiling study's public code runs it: another start and decay.",
        needs=_UPDATE,
        paper=_STUDY,
    ),
    Part(
        name="profiling_simplex",
        make=inversion.profiling_simplex,
        works_on=("rows",),
        about="The same with embedded categories on the probability simplex, negative entries cut off.",
        needs=_UPDATE,
        paper=_STUDY,
    ),
    Part(
        name="tableak",
        make=inversion.tableak,
        works_on=("rows",),
        about="Softmax structure of categories, 30 restarts aligned and pooled.",
        needs=_SCALED,
        paper=_TABLEAK,
    ),
    Part(
        name="tableak_paper",
        make=inversion.tableak_paper,
        works_on=("rows",),
        about="TabLeak as its authors run it: standardised logits, last iterates, restarts aligned by right cells.",
        needs=_SCALED,
        paper=_TABLEAK,
    ),
    Part(
        name="tableak_paper_no_pooling",
        make=inversion.tableak_paper_no_pooling,
        works_on=("rows",),
        about="The ablation of `tableak_paper`: a single run.",
        needs=_SCALED,
        paper=_TABLEAK,
    ),
    Part(
        name="tableak_paper_no_softmax",
        make=inversion.tableak_paper_no_softmax,
        works_on=("rows",),
        about="The ablation of `tableak_paper`: categories are free variables.",
        needs=_UPDATE,
        paper=_TABLEAK,
    ),
    Part(
        name="tableak_bounded",
        make=inversion.tableak_bounded,
        works_on=("rows",),
        about="TabLeak with numbers bounded by a sigmoid.",
        needs=_SCALED + "; ranges and statistics (--ranges-known --global-statistics)",
        paper="Vero et al., TabLeak, ICML 2023 (the later version)",
    ),
    Part(
        name="tableak_no_pooling",
        make=inversion.tableak_no_pooling,
        works_on=("rows",),
        about="TabLeak's ablation: a single run.",
        needs=_SCALED,
        paper=_TABLEAK,
    ),
    Part(
        name="tableak_no_softmax",
        make=inversion.tableak_no_softmax,
        works_on=("rows",),
        about="TabLeak's ablation: categories are free variables.",
        needs=_UPDATE,
        paper=_TABLEAK,
    ),
    Part(
        name="inverting_gradients",
        make=inversion.inverting_gradients,
        works_on=("rows",),
        about="Cosine matching on the signs of the gradient, one run.",
        needs=_UPDATE,
        paper=_GEIPING,
    ),
    Part(
        name="dlg",
        make=inversion.dlg,
        works_on=("rows",),
        about="Squared distance of the gradients, one run; unknown labels are variables too.",
        needs=_JOINT,
        paper=_DLG,
    ),
    Part(
        name="dlg_lbfgs",
        make=inversion.dlg_lbfgs,
        works_on=("rows",),
        about="DLG with the paper's optimiser, L-BFGS, 300 steps.",
        needs=_JOINT,
        paper=_DLG,
    ),
    Part(
        name="idlg",
        make=inversion.idlg,
        works_on=("rows",),
        about="DLG that reads the label of a single row from the last layer first.",
        needs=_JOINT,
        paper="Zhao et al., iDLG: Improved Deep Leakage from Gradients, 2020",
    ),
    Part(
        name="gradinversion_bn",
        make=inversion.gradinversion_bn,
        works_on=("rows",),
        about="Cosine matching with GradInversion's BatchNorm prior.",
        needs=_UPDATE + "; a model with BatchNorm",
        paper=_GRADINVERSION,
    ),
    Part(
        name="gradinversion_gc",
        make=inversion.gradinversion_gc,
        works_on=("rows",),
        about="Cosine matching of 8 restarts with GradInversion's group consistency.",
        needs=_UPDATE,
        paper=_GRADINVERSION,
    ),
    Part(
        name="sapag",
        make=inversion.sapag,
        works_on=("rows",),
        about="A Gaussian kernel per layer as the distance, one run.",
        needs=_UPDATE,
        paper=_SAPAG,
    ),
)

_plain = partial(Cafe, steps=False, alpha=1.0, gamma=0.0)  # a competitor: CAFE's engine and rate, without its steps

VERTICAL = (
    Part(
        name="spans",
        make=Spans,
        works_on=("vertical",),
        about="Intersects what the batches of a person span, and certifies rows; the model may train. A default.",
        needs=_BATCHES,
        paper="Seepage (docs/explanation/vertical-gradients.md)",
    ),
    Part(
        name="slopes",
        make=Slopes,
        works_on=("vertical",),
        about="Reads and proves people from columns of a category that few of a batch fill, in batches of any size, "
        "while a ReLU net trains; takes them away, and reads the others in what is left of the second layer.",
        needs=_BATCHES,
        paper="Seepage (docs/explanation/vertical-gradients.md)",
    ),
    Part(
        name="exact",
        make=OneByOne,
        works_on=("vertical",),
        about="Reads single batches as `exact` reads a client's update: it needs not know who is in them.",
        needs="weights and aggregated gradients of some batches",
        paper="Seepage (docs/explanation/exact-inversion.md)",
    ),
    Part(
        name="cafe_closed_form",
        make=ClosedForm,
        works_on=("vertical",),
        about="CAFE's first two steps as linear systems, solved exactly, while the weights are fixed. A default.",
        needs=_BATCHES,
        paper="Seepage, after " + _CAFE,
    ),
    Part(
        name="cafe",
        make=Cafe,
        works_on=("vertical",),
        about="CAFE's three steps by descent, in a single loop.",
        needs=_BATCHES,
        paper=_CAFE,
    ),
    Part(
        name="cafe_paper",
        make=partial(Cafe, second="adam", rate_one=0.4, rate_two=1e-2, rate=1e-2),
        works_on=("vertical",),
        about="CAFE with its authors' optimisers: SGD at 5e-3 (batches of 40) in step I, Adam at 1e-2 in II and III.",
        needs=_BATCHES,
        paper=_CAFE,
    ),
    Part(
        name="cafe_nested",
        make=partial(Cafe, mode="nested"),
        works_on=("vertical",),
        about="CAFE in nested loops, one step after the other.",
        needs=_BATCHES,
        paper=_CAFE,
    ),
    Part(
        name="dlg",
        make=partial(_plain, beta=0.0),
        works_on=("vertical",),
        about="Squared distance of the gradients, without CAFE's steps.",
        needs=_BATCHES,
        paper=_DLG,
    ),
    Part(
        name="cosine",
        make=partial(_plain, match="cosine"),
        works_on=("vertical",),
        about="Cosine of the gradients and total variation.",
        needs=_BATCHES,
        paper=_GEIPING,
    ),
    Part(
        name="sapag",
        make=partial(_plain, beta=0.0, match="gaussian"),
        works_on=("vertical",),
        about="A Gaussian kernel as the distance of gradients.",
        needs=_BATCHES,
        paper=_SAPAG,
    ),
    Part(
        name="gradinversion_bn",
        make=partial(_plain, beta=0.0, norms=1e-2),
        works_on=("vertical",),
        about="Squared distance, and the batch's mean and variance before the first layer.",
        needs=_BATCHES + ", and the statistics of a BatchNorm",
        paper=_GRADINVERSION,
    ),
    Part(
        name="gradinversion_gc",
        make=partial(_plain, beta=0.0, consistency=1e-3, seeds=3),
        works_on=("vertical",),
        about="Squared distance with the consistency of three recoveries.",
        needs=_BATCHES,
        paper=_GRADINVERSION,
    ),
)
ATTACKS = (*ROWS, *VERTICAL)
