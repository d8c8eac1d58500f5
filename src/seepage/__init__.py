"""Seepage: how much of your private table can another party read back from federated learning?"""
