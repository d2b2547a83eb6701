#!/usr/bin/env python3
"""After a change of the guide: `ci/guide.py` checks that docs/guide has its chapters as a repository shows them; `--write` writes them.

The chapters are part of brigade's documentation, where a link names an item. Here it leads to the file that has the item, and lines of examples that are hidden
there are left out. Checks too that the files exist to which the pages of the repository link.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

SOURCE, PAGES = Path('crates/brigade/src/guide'), Path('docs/guide')
CRATES = ['brigade', 'task', 'observe', 'machine', 'trace', 'sync', 'io']
ITEM = r'\bpub (?:async |const )?(?:fn|struct|enum|trait|mod|type|macro) '


def sources():
    """The sources of the public crates, by path; brigade's first."""
    for crate in CRATES:
        for path in sorted(Path('crates', crate, 'src').rglob('*.rs')):
            yield path, path.read_text()


ALL = list(sources())


def has_method(text, owner, name):
    """Whether an `impl` block of the type itself has the method."""
    blocks = re.findall(r'^impl(?:<[^{]*?>)? ' + owner + r'\b[^{;]*\{\n(.*?)^\}', text, re.M | re.S)
    return any(re.search(r'\bfn ' + name + r'\b', block) for block in blocks)


def file_of(item):
    """The file that has an item, as `crate::time::sleep` or `crate::Handle::spawn`."""
    names = item.split('::')[1:]
    name, owner = names[-1], names[-2] if len(names) > 1 else ''
    is_item = re.compile(ITEM + re.escape(name) + r'\b')
    if not owner[:1].isupper():
        found = [path for path, text in ALL if is_item.search(text)]
        inside = [path for path in found if owner and owner in path.parts + (path.stem,)]
        modules = [path for path, _ in ALL if path.stem == name or path.parts[-2:] == (name, 'mod.rs')]
        own = [path for path in found if 'brigade' in path.parts]
        found = [path for path in inside if path in own] or own or inside or found or modules
    else:
        # A method, or what a type has.
        has_owner = re.compile(r'(?:impl\b[^{;]*|' + ITEM + r')\b' + owner + r'\b')
        is_part = re.compile(r'\bfn ' + name + r'\b|\bpub ' + name + r':|^ +' + name + r'\b', re.M)
        found = [path for path, text in ALL if has_owner.search(text) and is_part.search(text)]
        methods = [path for path, text in ALL if path in found and has_method(text, owner, name)]
        found = methods or found or [path for path, text in ALL if re.search(ITEM + owner + r'\b', text)]
    if not found:
        sys.exit(f'ci/guide.py: no file has {item}')
    return found[0]


def target_of(item):
    """Where a link to an item leads, from a chapter."""
    item, _, anchor = item.replace('()', '').partition('#')
    anchor = anchor and '#' + anchor
    if chapter := re.fullmatch(r'crate::guide::(\w+)', item):
        return chapter[1] + '.md' + anchor
    if item in ('crate', 'crate::guide'):
        return '../../crates/brigade/src/lib.rs'
    return os.path.relpath(file_of(item), PAGES)


def chapter(name, text):
    """A chapter as the repository shows it."""
    text = re.sub(r'\]\((crate[\w:]*(?:\(\))?(?:#[\w-]*)?)\)|\]\[(crate::[^]]*)\]', lambda link: f']({target_of(link[1] or link[2])})', text)
    text = re.sub(r'\]\((std::[\w:]+)\)', r'](https://doc.rust-lang.org/std/?search=\1)', text)
    title = name.removesuffix('.md').replace('_', ' ').capitalize()
    lines, is_code, is_rust = [f'<!-- By ci/guide.py from {SOURCE}/{name}. -->\n\n# {title}\n\n'], False, False
    for line in text.splitlines(keepends=True):
        if line.startswith('```'):
            is_code, is_rust = not is_code, not is_code and line.startswith('```rust')
            line = re.sub(r'^```rust.*', '```rust', line)
        elif is_rust and re.match(r'# |#$', line):
            continue
        elif not is_code and line.startswith('#'):
            line = '#' + line
        lines.append(line)
    return ''.join(lines)


def dead_links():
    """The links of the repository's pages to files that do not exist."""
    pages = subprocess.run(['git', 'ls-files', '*.md'], capture_output=True, text=True, check=True).stdout.split()
    pages += [str(path) for path in PAGES.glob('*.md')]
    for page in sorted(set(pages)):
        if page.startswith(str(SOURCE)) or not Path(page).exists():
            continue
        text = re.sub(r'```.*?```|`[^`\n]*`', '', Path(page).read_text(), flags=re.S)
        for link in re.findall(r'\]\(([^)\s]+)\)', text):
            file = link.split('#')[0]
            if not re.match(r'https?:|mailto:', link) and file and not (Path(page).parent / file).exists():
                yield f'{page}: {link}'


def main():
    write = sys.argv[1:] == ['--write']
    if sys.argv[1:] and not write:
        sys.exit(__doc__)
    names = sorted(path.name for path in SOURCE.glob('*.md') if not path.name.startswith('without_'))
    problems = []
    for name in names:
        page, text = PAGES / name, chapter(name, (SOURCE / name).read_text())
        if write:
            PAGES.mkdir(exist_ok=True)
            page.write_text(text)
        elif not page.exists() or page.read_text() != text:
            problems.append(f'{page} is not the chapter; `ci/guide.py --write` writes it')
    problems += [f'{page}: no such chapter' for page in PAGES.glob('*.md') if page.name not in names]
    problems += [f'a dead link: {link}' for link in dead_links()]
    if problems:
        sys.exit('\n'.join(problems))


main()
