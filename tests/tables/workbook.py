"""Tiny Excel workbooks, written by hand: enough for a reader, nothing to install."""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_STYLES = (
    f'<styleSheet xmlns="{_MAIN}"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills>'
    '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs></styleSheet>'
)


def workbook(sheets: Mapping[str, Sequence[Sequence[object]]]) -> bytes:
    """A workbook of these sheets, each a list of rows of cells."""
    names = list(sheets)
    listed = "".join(f'<sheet name="{name}" sheetId="{at}" r:id="r{at}"/>' for at, name in enumerate(names, start=1))
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{_REL}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_REL}"><sheets>{listed}</sheets></workbook>',
        "xl/styles.xml": _STYLES,
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        + "".join(
            f'<Relationship Id="r{at}" Type="{_REL}/worksheet" Target="worksheets/sheet{at}.xml"/>'
            for at in range(1, len(names) + 1)
        )
        + f'<Relationship Id="s" Type="{_REL}/styles" Target="styles.xml"/></Relationships>',
    }
    for at, name in enumerate(names, start=1):
        rows = "".join(f'<row r="{row}">{_cells(cells, row)}</row>' for row, cells in enumerate(sheets[name], start=1))
        parts[f"xl/worksheets/sheet{at}.xml"] = f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    return zipped(parts)


def zipped(parts: Mapping[str, str]) -> bytes:
    """An archive of these texts."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return stream.getvalue()


def _cells(cells: Sequence[object], row: int) -> str:
    return "".join(_cell(cell, f"{chr(65 + place)}{row}") for place, cell in enumerate(cells) if cell is not None)


def _cell(cell: object, place: str) -> str:
    if isinstance(cell, bool):
        return f'<c r="{place}" t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, datetime.date):
        moment = cell if isinstance(cell, datetime.datetime) else datetime.datetime(cell.year, cell.month, cell.day)
        days = (moment - datetime.datetime(1899, 12, 30)) / datetime.timedelta(days=1)
        return f'<c r="{place}" s="{2 if isinstance(cell, datetime.datetime) else 1}"><v>{days!r}</v></c>'
    if isinstance(cell, int | float):
        return f'<c r="{place}"><v>{cell!r}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(str(cell))}</t></is></c>'
