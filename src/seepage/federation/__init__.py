"""Federated training, simulated: protocols, exposure, and the trace that keeps shared and true apart."""

from seepage.federation.exposure import FINAL, INITIALIZED, Automatic, Clock, Milestones, Schedule
from seepage.federation.fedavg import FedAvg
from seepage.federation.fedsgd import FedSGD
from seepage.federation.population import Population, make_population
from seepage.federation.protocol import FederatedProtocol
from seepage.federation.simulation import Clients, simulate
from seepage.federation.trace import AttackPoint, Moment, Trace, Truth

__all__ = [
    "FINAL",
    "INITIALIZED",
    "AttackPoint",
    "Automatic",
    "Clients",
    "Clock",
    "FedAvg",
    "FedSGD",
    "FederatedProtocol",
    "Milestones",
    "Moment",
    "Population",
    "Schedule",
    "Trace",
    "Truth",
    "make_population",
    "simulate",
]
