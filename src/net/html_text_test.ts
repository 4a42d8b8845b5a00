import { assert, assertEquals, assertGreater } from "@std/assert";
import { htmlToText } from "./html_text.ts";

const BASE = "https://a.example/docs/page";

Deno.test("a page becomes its title and its visible text", async () => {
  const page = `<!doctype html><html><head><title> A  page </title><style>p{}</style>
    <script>alert("<p>no</p>")</script></head><body><nav><a href="/">Home</a></nav>
    <h1>Top</h1><p>One   &amp; two,<br>three <b>b</b><i>i</i>.</p><p>Next&nbsp;one</p>
    <noscript>plain</noscript><template>t</template><!-- c --></body></html>`;
  assertEquals(
    await htmlToText(page, BASE),
    "A page\n\nHome (https://a.example/)\n\n# Top\n\nOne & two,\nthree bi.\n\nNext one\n\nplain",
  );
});

Deno.test("links keep their address, unless it is shown or leads nowhere else", async () => {
  const page = `<p><a href="b?x=1#y">b</a>, <a href="#top">up</a>,
    <a href="https://c.example/">https://c.example/</a> <a href="javascript:x()">js</a>
    <a href="/empty"></a><a href="mailto:x@y.z">mail</a> <a>none</a></p>`;
  assertEquals(
    await htmlToText(page, BASE),
    "b (https://a.example/docs/b?x=1#y), up, https://c.example/ js mail (mailto:x@y.z) none",
  );
});

Deno.test("lists, tables, code and images keep their shape", async () => {
  const page = `<ul><li>one<li><p>two</p></li></ul><table><tr><th>a</th><th>b</th></tr>
    <tr><td>1</td><td>2</td></tr></table><pre>if (x) {\n  y | z |\n}</pre>
    <img alt="A cat" src="x"><img src="y">`;
  assertEquals(
    await htmlToText(page, BASE),
    "- one\n- two\n\na | b\n1 | 2\n\nif (x) {\n  y | z |\n}\n\n[image: A cat]",
  );
});

Deno.test("broken and cut off pages give what there is", async () => {
  assertEquals(await htmlToText("", BASE), "");
  assertEquals(await htmlToText("just text", BASE), "just text");
  assertEquals(await htmlToText("<p>a</div></b></a></pre><p>b<i cl", BASE), "a\n\nb");
  assertEquals(await htmlToText("<p>a<script>unclosed <p>x", BASE), "a");
  assertEquals(await htmlToText("<svg><svg></svg>x</svg>y</svg>z", BASE), "yz");
});

Deno.test("a large or deeply nested page does not hold up the others", async () => {
  const pages = ["<div>".repeat(200_000), '<p>text <a href="/x">link</a></p>\n'.repeat(30_000)];
  for (const page of pages) {
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const text = await htmlToText(page, BASE);
    clearInterval(timer);
    assert(text === "" || text.startsWith("text link"));
    assertGreater(turns, 2);
  }
});
