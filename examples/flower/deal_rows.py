"""Writes what three hospitals have: a file of rows each, with the columns that they agreed on (schema.toml).

python deal_rows.py 8
"""

import sys

from hospitals.task import CATEGORIES, NUMBERS

from seepage.data import clinic

count = int(sys.argv[1])
rows = clinic(rows=600, seed=0).select([*NUMBERS, *CATEGORIES, "died"])
for place in range(3):
    rows[place * count : (place + 1) * count].write_csv(f"site-{place + 1}.csv")
