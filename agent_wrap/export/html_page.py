"""The fixed parts of the HTML page: its script, and the policy that allows it.

The page asks for nothing: no request leaves it, and no script runs in it but the one
here, whose hash the policy names.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from agent_wrap.export.html_style import STYLE

SCRIPT = """
const rows=[...document.querySelectorAll('article')];
const tools=document.getElementById('tools');tools.hidden=false;
const [find,kind,all,said]=['input','select','button','output']
.map(name=>tools.querySelector(name));
const folds=()=>document.querySelectorAll('article:not([hidden]) details');
all.onclick=()=>{const found=[...folds()];
const open=!found.every(fold=>fold.open);found.forEach(fold=>fold.open=open)};
const choose=()=>{const text=find.value.trim().toLowerCase();let shown=0;
for(const row of rows){const fits=(!kind.value||row.classList.contains(kind.value))&&
(!text||row.textContent.toLowerCase().includes(text));
row.hidden=!fits;shown+=fits}
said.textContent=text||kind.value?`${shown} of ${rows.length}`:'';
if(text&&shown<=50)folds().forEach(fold=>fold.open=true)};
let waiting;find.oninput=()=>{clearTimeout(waiting);waiting=setTimeout(choose,150)};
kind.onchange=choose;
const show=()=>{const row=document.getElementById(location.hash.slice(1));
if(!row)return;if(row.closest('[hidden]')){find.value=kind.value='';choose()}
row.querySelectorAll('details').forEach(fold=>fold.open=true);row.scrollIntoView()};
addEventListener('hashchange',show);if(location.hash)show();
addEventListener('keydown',e=>{if(e.ctrlKey||e.metaKey||e.altKey)return;
if(e.target===find){if(e.key==='Escape'){find.value='';choose();find.blur()}return}
if(e.key==='/'){e.preventDefault();find.focus();return}
const step={j:1,k:-1}[e.key];if(!step)return;
const stops=[...document.querySelectorAll('article:not([hidden]) summary')];
const at=stops.indexOf(document.activeElement);
const next=stops[at<0?(step>0?0:stops.length-1):at+step];
if(next){next.focus();next.scrollIntoView({block:'nearest'})}});
"""

TOOLS = (
    '<span id="tools" hidden><input type="search" placeholder="Search /"'
    ' aria-label="Search"> <select aria-label="What is shown">'
    '<option value="">everything<option value="message">messages'
    '<option value="thinking">thinking<option value="tool">tools'
    '<option value="failed">failed tools</select> '
    '<button type="button">Open or close all</button> <output></output></span>'
)
"""What works by script only, and is hidden without it."""


def _hash(text: str) -> str:
    return "'sha256-" + b64encode(sha256(text.encode()).digest()).decode() + "'"


POLICY = (
    f"default-src 'none'; style-src {_hash(STYLE)}; script-src {_hash(SCRIPT)}; "
    "base-uri 'none'; form-action 'none'"
)

HEAD = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<style>{STYLE}</style>
"""

FOOT = f"""</main>
<script>{SCRIPT}</script>
</body>
</html>
"""
