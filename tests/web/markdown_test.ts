/** Markdown of models, as elements of the page. */
import { assertEquals } from "@std/assert";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

const TABLE = '<div class="md-table" tabindex="0" role="group" aria-label="Table"><table>';
const LINK = 'target="_blank" rel="noopener noreferrer"';

/** What is written, and the elements that it becomes. */
const SAMPLES: readonly [string, string][] = [
  ["# One *two*\n\nrest", '<p class="md-heading md-h1">One <em>two</em></p><p>rest</p>'],
  [
    "a\nb **c** ~~d~~ `e &amp; <f>`",
    [
      "<p>a<br>b <strong>c</strong> <del>d</del> ",
      "<code>e &amp;amp; &lt;f&gt;</code></p>",
    ].join(""),
  ],
  [
    "&copy; &lt;b&gt; &amp;lt; &nothing; \\* &#65;",
    "<p>© &lt;b&gt; &amp;lt; &amp;nothing; * A</p>",
  ],
  ["- a\n- [x] b\n- [ ] c", "<ul><li>a</li><li>☑ b</li><li>☐ c</li></ul>"],
  [
    "3. a\n\n   b\n4. c",
    '<ol start="3"><li><p>a</p><p>b</p></li><li><p>c</p></li></ol>',
  ],
  ["> a\n>\n> > b", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>"],
  [
    "|a|b|\n|-|:-:|\n|1|",
    `${TABLE}<thead><tr><th>a</th><th align="center">b</th></tr></thead>` +
    '<tbody><tr><td>1</td><td align="center"></td></tr></tbody></table></div>',
  ],
  [
    "[a *b*](https://x.test/?q=1&r) <https://y.test/> [c](javascript:d) ![e](https://z.test/f.png)",
    `<p><a href="https://x.test/?q=1&amp;r" title="https://x.test/?q=1&amp;r" ${LINK}>a <em>b</em></a> ` +
    `<a href="https://y.test/" title="https://y.test/" ${LINK}>https://y.test/</a> c ` +
    `<a href="https://z.test/f.png" title="https://z.test/f.png" ${LINK}>e</a></p>`,
  ],
  ["a <b onclick=x>c</b>\n\n---", "<p>a &lt;b onclick=x&gt;c&lt;/b&gt;</p><hr>"],
];

/** Runs in the page: the elements of what answers the n-th message. */
function lastAnswer(n: number): string {
  // deno-lint-ignore no-explicit-any -- the page's globals, of which Deno has no types
  const { document } = globalThis as any;
  const rows = [...document.querySelectorAll("[role=log] [data-role]")];
  const asked = rows.findLastIndex((row) =>
    row.dataset.role === "user" && row.textContent.endsWith(`:${n}`)
  );
  return asked < 0 ? "" : rows.slice(asked + 1)
    .flatMap((row) => [...row.querySelectorAll(".markdown")])
    .map((it) => it.innerHTML).join("");
}

Deno.test({
  name: "each kind of Markdown becomes its elements, and HTML in it stays text",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(SAMPLES.map(([text]) => ({ text: [text] })));
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    for (const [n, [written, drawn]] of SAMPLES.entries()) {
      await it.turn(String(n));
      let shown = "";
      await until(async () => {
        shown = await app.page.evaluate(lastAnswer, n);
        return shown === drawn;
      }, `${written} as its elements`).catch(() =>
        assertEquals([written, shown], [written, drawn])
      );
    }
    app.clean("Markdown");
  },
});
