from seepage.attacks.adaptive.attack import Adaptive
