"""Pages on which HTML parsers and browsers are known to disagree."""

PAGES = {
    "table without tbody": "<table><tr><th>Name<th>Price<tr><td>Hat<td>3<tr><td><a href=/a>Cap</a><td>4</table>",
    "table with parts": """<table><caption>Stock</caption><thead><tr><th>A<th>B</thead><tfoot><tr><td>sum<td>2</tfoot>
        <tbody><tr><td>x<td>1<tbody><tr><td>y<td>1</table>""",
    "nested tables": "<table><tr><td>out<td><table><tr><td>in<td><a href=/i>link</a></table></table>",
    "unclosed tags": "<div><p>one<p>two<ul><li>a<li>b<b>bold<li>c</ul><p>three<a href=/x>link</a><p>four",
    "unclosed inline": "<p><b>bold <i>both</b> italic</i> plain</p><p>next <em>word",
    "misnested link": "<a href=/one>one <b>bold</a> after</b> <a href=/two>two",
    "nested links": "<a href=/outer>outer <a href=/inner>inner</a> rest</a>",
    "nested forms": """<form action=/a><input name=x aria-label=X><button>One</button><form action=/b></form></form>
        <form action=/c><button>Two</button></form>""",
    "form in a table": """<table><form action=/a><tr><td><input name=x aria-label=X><td><button>Go</button></tr></form></table>""",
    "block in a paragraph": "<p>before<div>inside</div>after</p><p>x<h2>head</h2>y",
    "entities": "<p>&lt;b&gt; &amp;amp; &nbsp;x&nbsp; &eacute; &#8364; &#x1F600; &notanentity; &copy &AMP; &#0; &#150;</p>",
    "entities in attributes": '<a href="/?a=1&amp;b=2&copy=3" title="a &quot;b&quot; &lt;c&gt;">x</a><input value="&lt;&amp;&gt;">',
    "white space": "<p>  a \n\t b  <span> c </span>d<span>e</span> </p><pre>  keep\n  this  </pre><p> </p>",
    "text area": "<textarea aria-label=T>\n\nfirst &amp;\n  second</textarea><textarea aria-label=U></textarea>",
    "text area of several lines": "<textarea aria-label=T>\r\n  one\r\n\r\n\ttwo &lt;b>\rthree\n\n</textarea> <button>Go</button>"
    "<table><tr><td>x <textarea aria-label=U>a\nb \\n</textarea></td><td>y</td></tr></table><h2>h <textarea>c\n d</textarea></h2>"
    "<textarea aria-label=V>" + "line\n" * 200 + "</textarea>",
    "text area with tags": "<textarea aria-label=T><b>bold</b> <a href=/x>no link</a></textarea>",
    "select groups": """<label>Size <select><optgroup label=Small><option>S<option selected>M<optgroup label=Big><option>L
        <option disabled>XL</select></label>""",
    "select without choice": "<select aria-label=A><option disabled>Choose<option>One</select><select aria-label=B></select>",
    "select with several": "<select multiple aria-label=M><option selected>a<option>b<option selected>c</select>",
    "select in a label": "<label>Country <select name=c><option>Here<option>There</select> please</label>",
    "details": """<details><summary>More</summary><p>hidden <a href=/h>link</a></p></details>
        <details open><summary>Open</summary><p>shown <a href=/s>link</a></p></details>""",
    "details without summary": "<details><p>text</p></details><details open><p>seen</p></details>",
    "hidden": """<p hidden>no</p><p style="display:none">no</p><p style="visibility: hidden">no</p><div aria-hidden=true>no</div>
        <input type=hidden value=no><p>yes</p>""",
    "images": "<img src=data: alt='A hat'><a href=/x><img src=data: alt='Go on'></a><img src=data:><input type=image alt=Send>",
    "buttons": """<button>One</button><button type=reset>Two</button><input type=submit><input type=submit value=Three>
        <input type=button value=Four><input type=reset><div role=button tabindex=0>Five</div><button disabled>Six</button>""",
    "fields": """<label for=n>Name</label><input id=n value=Ann><label>Age <input type=number value=3></label>
        <input placeholder=Search><input name=bare><input title=Titled><input type=checkbox aria-label=Tick checked>
        <input type=radio name=r aria-label=R1><input type=radio name=r aria-label=R2 checked>
        <input type=password value=secret aria-label=Password><input type=date value=2023-02-03 aria-label=Day>
        <input type=range min=0 max=9 value=4 aria-label=Level><input type=color value=#ff0000 aria-label=Color>""",
    "twice checked": "<input type=radio name=r checked aria-label=A><input type=radio name=r checked aria-label=B>",
    "lists": "<ul><li>a<ul><li>b<li>c</ul><li>d</ul><ol start=3><li>x<li value=9>y</ol><dl><dt>k<dd>v<dt>l<dd>w</dl>",
    "frames": "<p>before</p><iframe src=about:blank></iframe><p>after</p>",
    "base": "<base href=/sub/><a href=page>Page</a><p>x</p>",
    "late head": "<p>text</p><title>Late</title><meta charset=utf-8><link rel=x><p>more</p>",
    "odd names": "<x-tile data-x=1>tile <b>b</b></x-tile><svg><text>no</text></svg><math><mi>x</mi></math><o:p>office</o:p><font>f</font>",
    "odd attributes": """<a href=/x @click="y" :to="z" x<y=1 "=2 data-a='1'>link</a><div class=a class=b>text</div>""",
    "comments": "<!-- one --><p>a<!-- > -->b<!--->c--><?php echo ?>d<![CDATA[e]]>f</p>",
    "scripts and styles": "<script>document.title</script><style>p{color:red}</style><noscript><p>no</p></noscript><p>yes</p>",
    "templates": "<template><p>no <a href=/t>t</a></p></template><p>yes</p>",
    "deep": "<div>" * 60 + "<a href=/deep>deep</a>" + "</div>" * 60,
    "headings": "<h1>One <small>two</small></h1><h2><a href=/h>Linked</a></h2><h3></h3><hgroup><h4>x</h4><p>y</p></hgroup>",
    "line breaks": "<p>a<br>b<br/>c<wbr>d</p><address>x<br>y</address><hr>z",
    "text after the end": "<p>a</p></body></html><p>b</p> tail",
    "no markup": "just text & <3 more",
    "only a fragment": "<td>cell</td><li>item</li><option>opt</option>",
    "right to left": "<p dir=rtl>שלום <bdi>x</bdi> العربية</p><p>日本語 \U0001f9e9 é e\u0301</p>",
    "label around link": "<label>See <a href=/x>terms</a> <input type=checkbox></label>",
    "fieldset": "<fieldset disabled><legend>Legend <input aria-label=L></legend><input aria-label=I></fieldset>",
    "datalist": "<input list=d aria-label=City><datalist id=d><option>Ulm<option>Bonn</datalist>",
    "progress": "<progress value=3 max=10>3</progress><meter value=2>2</meter><output>out</output><time>now</time>",
    "ruby": "<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby><abbr title=World>W</abbr><sub>2</sub><sup>3</sup>",
    "editable": "<div contenteditable=true>edit me</div><div role=textbox tabindex=0>box</div>",
    "states": """<div role=checkbox aria-checked=mixed tabindex=0>Tick</div><button aria-pressed=false>Bold</button>
        <div role=tab aria-selected=true>One</div><div role=slider aria-label=Level aria-valuenow=40 aria-valuetext="40 %"></div>
        <button aria-disabled=true>Off</button><button aria-expanded=false>Menu</button>""",
    "sorted": """<table><tr><th aria-sort=ascending><a href=/n>Name</a><th aria-sort=descending>Price \u2193<th aria-sort=none>Id
        <tr><td>a<td>1<td>2</table>""",
    "values beside names": """<button aria-label=Cart>3</button><a href=/ aria-label=Inbox>(12)</a><button aria-label=Close>x</button>
        <div role=combobox aria-label=Country tabindex=0>Peru</div><button aria-haspopup=listbox aria-label=Sort>Newest</button>
        <div contenteditable aria-label=Note>Call Ann</div><b id=city>City</b><div role=textbox aria-labelledby=city>Ulm</div>
        <a href=/ aria-label="Page 2">2</a>""",
    "icons": """<a href=/cart/><i class=icon></i></a><a href="/p?sort=price"><span></span></a><a href=/x.html title=Ex></a>
        <a href=/y><svg><title>Why</title><path d=M0></path></svg></a><a href=/z><i aria-label=Zed></i></a><a href=/><img src=data:></a>
        <button><i class="fa fa-trash"></i></button><button name=send><svg class=i></svg></button><a href=javascript:void(0) id=more></a>
        <button value=7></button><a href=mailto:ann@b.test></a><a href=https://b.test/></a><a href=#top></a>""",
    "boxes behind labels": """<input type=checkbox hidden id=a checked><label for=a>One</label><label><input type=radio name=r
        style="display: none"><i></i> Two</label><span hidden><input type=radio name=r id=b></span><label for=b>Three</label>
        <label for=b>again</label><label tabindex=0><input type=file hidden> Upload</label><label>See <a href=/x>this</a>
        <input type=checkbox hidden></label><label><input hidden> no box</label><p hidden><label for=a>gone</label></p>""",
    "groups that are disabled": """<fieldset disabled><legend><input aria-label=L><button>L2</button></legend><input aria-label=A>
        <fieldset><legend><select aria-label=B><option>b</select></legend><textarea aria-label=C></textarea></fieldset>
        <legend><button>D</button></legend><a href=/x>Link</a></fieldset><fieldset><input aria-label=E disabled></fieldset>""",
    "places for the Tab key": """<div tabindex=0>Go <b>on</b></div><div tabindex=-1>no</div><section tabindex=0><a href=/x>in</a></section>
        <div tabindex=0>"""
    + "many words " * 20
    + """</div><p draggable=true>Drag</p><table><tr tabindex=0><td>x<td>y</table>""",
    "guards of the focus": """<div tabindex=0></div><p>in</p><span tabindex=0><!-- end --></span><i tabindex=0 title=Star></i><canvas tabindex=0></canvas>""",
    "dialog": "<dialog><p>closed <a href=/d>no</a></p></dialog><dialog open><p>open <a href=/o>yes</a></p></dialog>",
    "a link that is never closed": "<p>three<a href=/x>link<p>four",
    "a form inside a form": "<form><input aria-label=X><form><input aria-label=Y></form><button>Go</button></form>",
}
"""A body by the name of what is awkward about it."""
