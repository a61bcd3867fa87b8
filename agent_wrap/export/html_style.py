"""The style of the HTML page: light and dark, narrow and wide, on paper."""

from __future__ import annotations

from agent_wrap.export.svg import STYLE as PICTURE

STYLE = (
    """
:root{color-scheme:light dark;--bg:#fff;--fg:#1c2128;--dim:#59636e;--line:#d8dee4;
--box:#f6f8fa;--good:#1a7f37;--bad:#c42b31;--blue:#0b5fc4;--add:#dafbe1;--del:#ffebe9;
--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--dim:#9198a1;
--line:#30363d;--box:#161b22;--good:#4cc763;--bad:#ff7b72;--blue:#6cb0ff;
--add:#12351f;--del:#481a1d}}
*{box-sizing:border-box}
html{scroll-padding-top:3.5rem}
body{margin:0 auto;max-width:62rem;padding:0 1rem 4rem;background:var(--bg);
color:var(--fg);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
header{padding:1.5rem 0 .5rem}
h1{font-size:1.35rem;margin:0 0 .25rem;overflow-wrap:anywhere}
.sub{color:var(--dim);margin:0 0 .75rem;overflow-wrap:anywhere}
dl{display:flex;flex-wrap:wrap;gap:.5rem 1.75rem;margin:0}
dt{color:var(--dim);font-size:.8rem}
dd{margin:0;font-variant-numeric:tabular-nums}
.badge{display:inline-block;padding:.05rem .55rem;border-radius:1rem;font-size:.85rem;
font-weight:600;border:1px solid currentColor;vertical-align:.1em;margin-left:.5rem}
.good{color:var(--good)}.bad{color:var(--bad)}.open{color:var(--blue)}
nav,#tools{display:flex;gap:.5rem;flex-wrap:wrap;align-items:center}
nav{position:sticky;top:0;z-index:1;background:var(--bg);padding:.5rem 0;
border-bottom:1px solid var(--line);margin-bottom:.75rem}
#tools[hidden],article[hidden]{display:none}
nav a,button,input,select{font:inherit;font-size:.85rem;color:var(--blue);
background:var(--bg);border:1px solid var(--line);border-radius:.4rem;
padding:.15rem .6rem;text-decoration:none}
nav a,button,select{cursor:pointer}
input{color:var(--fg);width:14rem}
output{color:var(--dim);font-size:.85rem}
svg.picture{display:block;width:100%;height:auto;margin-top:1rem}
code{font:.85em var(--mono);background:var(--box);border-radius:.25rem;
padding:.1em .3em}
article{display:grid;grid-template-columns:3.6rem minmax(0,1fr);gap:0 .75rem;
padding:.3rem 0;content-visibility:auto;contain-intrinsic-size:auto 2.4rem}
article:target{background:var(--box);border-radius:.4rem}
article>time{color:var(--dim);font:.8rem/1.9 var(--mono);text-align:right}
:focus-visible{outline:2px solid var(--blue);outline-offset:2px;border-radius:.3rem}
.text,pre{white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;margin:0}
.message{padding:.1rem 0}
.message .used{color:var(--dim);font-size:.8rem}
.prompt details{border-left:3px solid var(--blue);
padding-left:.45rem;margin-left:-.55rem}
.thinking{color:var(--dim);font-style:italic}
pre{font:.82rem/1.45 var(--mono);background:var(--box);border:1px solid var(--line);
border-radius:.4rem;padding:.5rem .7rem;margin:.35rem 0;max-height:32rem;overflow:auto}
details>summary{cursor:pointer;list-style:none;display:flex;gap:.5rem;
align-items:baseline;border-radius:.3rem;min-width:0}
details>summary::-webkit-details-marker{display:none}
details>summary::before{content:"\\25b8";color:var(--dim);flex:none}
details[open]>summary::before{content:"\\25be"}
summary b{flex:none;max-width:50%;overflow:hidden;text-overflow:ellipsis}
summary .line{flex:1;min-width:0;overflow:hidden;text-overflow:ellipsis;
white-space:nowrap;unicode-bidi:plaintext}
.tool .line{font:.85rem var(--mono);color:var(--dim)}
details[open]>summary .first{visibility:hidden}
summary .took{flex:none;color:var(--dim);font-size:.8rem}
summary .mark{flex:none;font-weight:700}
.label{color:var(--dim);font-size:.8rem;margin:.4rem 0 0}
.a{background:var(--add)}.d{background:var(--del)}.p{color:var(--blue)}
pre span{display:block;min-height:1.2em}
footer{border-top:1px solid var(--line);margin-top:1rem;padding-top:.75rem}
footer .text{margin-top:.3rem}
@media(max-width:40rem){body{padding:0 .7rem 3rem;font-size:.95rem}
article{grid-template-columns:minmax(0,1fr)}article>time{text-align:left;line-height:1.2}
.prompt details{margin-left:0}
dl{gap:.4rem 1.2rem}input{width:8rem}svg.picture text{font-size:18px}}
@media print{pre{max-height:none}nav{display:none}}
"""
    + PICTURE
)
