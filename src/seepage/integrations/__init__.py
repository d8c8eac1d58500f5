"""Inside real federations: recorders on a server, guards on clients. One file for each framework, loaded by its users.

``recording`` and ``guarding`` know no framework; ``flower`` and ``nvflare`` join them to theirs. Frameworks are extras:
``pip install 'seepage[flower]'``, ``pip install 'seepage[nvflare]'``.
"""
