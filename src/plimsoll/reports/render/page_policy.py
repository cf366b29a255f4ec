"""
The content security policy of a page that holds everything it needs: what was written may run, nothing else.

Rule 1: scripts and styles are allowed by the hash of their text, not because they stand in the page.
Rule 2: no element has a style of its own, since such styles could only be allowed all at once; each is
        moved into the page's style sheet, as a class.
"""

import hashlib
import re
from base64 import b64encode
from html import escape, unescape

POLICY = "content-security-policy-of-this-page"
"""What stands in a page where its policy will."""

# Text of these elements is no markup.
_RAW = re.compile(r"<(script|style)\b([^>]*)>(.*?)</\1\s*>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[a-zA-Z][^<>]*?\sstyle=(?:\"[^\"<>]*\"|'[^'<>]*')[^<>]*>")
_STYLE = re.compile(r"\sstyle=(?:\"([^\"]*)\"|'([^']*)')")
_CLASS = re.compile(r"\sclass=\"([^\"]*)\"")


def closed(page: str) -> str:
    """
    Return the page with a policy that allows only its own scripts and styles.

    Args:
        page: markup in which `POLICY` stands for the policy and every `<` and `>` of texts and attributes
            is escaped.
    """
    page = without_own_styles(page)
    scripts, styles = [], []
    for kind, attributes, text in _RAW.findall(page):
        if kind.lower() == "style":
            styles.append(_hashed(text))
        # What is not JavaScript is not run.
        elif "application/json" not in attributes:
            scripts.append(_hashed(text))
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src {_allowed(styles)}",
            f"script-src {_allowed(scripts)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return page.replace(POLICY, policy, 1)


def _allowed(hashes: list[str]) -> str:
    return " ".join(dict.fromkeys(hashes)) or "'none'"


def _hashed(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def without_own_styles(page: str) -> str:
    """Return the page with styles of elements moved into classes of the first style sheet."""
    names: dict[str, str] = {}

    def moved(tag: re.Match[str]) -> str:
        text = tag.group()
        found = _STYLE.search(text)
        assert found is not None
        style = unescape(found.group(1) or found.group(2) or "").strip().rstrip(";")
        text = text[: found.start()] + text[found.end() :]
        if not style:
            return text
        name = names.setdefault(style, f"own-{len(names) + 1}")
        given = _CLASS.search(text)
        if given is not None:
            return text[: given.start(1)] + f"{given.group(1)} {name}" + text[given.end(1) :]
        end = len(text) - (2 if text.endswith("/>") else 1)
        return f'{text[:end].rstrip()} class="{escape(name)}"{text[end:]}'

    parts, last = [], 0
    for raw in _RAW.finditer(page):
        parts += [_TAG.sub(moved, page[last : raw.start()]), raw.group()]
        last = raw.end()
    whole = "".join((*parts, _TAG.sub(moved, page[last:])))
    # An element's own style goes before every rule of a sheet.
    rules = "".join(
        f".{name} {{ {'; '.join(f'{one.strip()} !important' for one in style.split(';'))} }}\n"
        for style, name in names.items()
    )
    return whole.replace("</style>", f"{rules}</style>", 1) if rules else whole
