/** Diagrams of a text: drawn in a frame that can do nothing, and code where they cannot be drawn. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Frame } from "playwright-core";
import { Browser } from "../support/browser.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();
const PAGE = "/diagram.html";
const SHIFT_MAX = 0.02;

const fenced = (code: string) => `\`\`\`mermaid\n${code}\n\`\`\`\n`;
const FLOW = "graph TD\n  A[Read the file] --> B{Is it valid?}\n  B -->|yes| C[Write it]\n" +
  "  B -->|no| D[Say why]";

/** The frames of diagrams that are in a page now. */
function framesOf({ page }: AppPage): Frame[] {
  return page.frames().filter((frame) => frame !== page.mainFrame());
}

/** The frame of the n-th diagram, once it has drawn it. */
async function drawn(app: AppPage, n = 0): Promise<Frame> {
  const frame = app.page.locator("figure.diagram").nth(n).locator("iframe:not(.undrawn)");
  return (await (await frame.elementHandle())!.contentFrame())!;
}

/** The text that a diagram shows. */
async function words(frame: Frame): Promise<string> {
  return (await frame.locator("svg").first().textContent() ?? "").replaceAll(/\s+/g, " ");
}

Deno.test({
  name: "a diagram is code until its fence is closed, then a picture, and its code is at hand",
  ignore: no_browser,
  async fn() {
    const rest = Promise.withResolvers<void>();
    await using it = await Scenario.begin([
      { text: "plain" },
      {
        text: ["Look.\n\n```mermaid\n", FLOW, "\n```\n\nThe end."],
        hang_after: 2,
        go_on: rest.promise,
      },
    ]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/cost");
    const { page } = app;
    const asked: string[] = [];
    page.on("request", (request) => void asked.push(new URL(request.url()).pathname));
    await app.go(`/sessions/${it.session_id}`);
    await page.getByText("plain").waitFor();
    await it.send("more");
    await page.locator("figure.code").getByText("Is it valid?").waitFor();
    const loads = () => asked.filter((path) => path === PAGE || /\/diagram-/.test(path));
    assertEquals([loads(), framesOf(app)], [[], []]);
    rest.resolve();
    await page.getByText("The end.").waitFor();
    assertStringIncludes(await words(await drawn(app)), "Is it valid?");
    assertEquals(loads().length, 2);
    await app.accessible("a diagram");

    const code = page.getByRole("button", { name: "Code", exact: true });
    await code.press("Enter");
    await page.getByRole("group", { name: "Code of the diagram" }).getByText("Is it").waitFor();
    assertEquals(framesOf(app), []);
    await app.accessible("the code of a diagram");
    await code.press("Enter");
    await drawn(app);

    await page.getByRole("button", { name: "Enlarge the diagram" }).click();
    const large = page.getByRole("dialog", { name: "Diagram" });
    await large.locator("iframe:not(.undrawn)").waitFor();
    await app.accessible("an enlarged diagram");
    await page.keyboard.press("Escape");
    await large.waitFor({ state: "detached" });
    await app.focusKept();
    app.clean("a diagram");
  },
});

Deno.test({
  name:
    "a diagram has the colours of the page, keeps its place and asks for nothing from elsewhere",
  ignore: no_browser,
  async fn() {
    const SEQUENCE = "sequenceDiagram\n  participant A\n  A->>B: hello\n  B-->>A: good bye";
    await using it = await Scenario.begin([
      {
        text: `First.\n\n${fenced(FLOW)}\n- in a list:\n\n  ${
          fenced(SEQUENCE).replaceAll("\n", "\n  ")
        }\n\nThe end.`,
      },
    ]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    await page.addInitScript(`{
      globalThis.shifted = 0;
      new PerformanceObserver((list) => {
        for (const { value, hadRecentInput } of list.getEntries()) {
          if (!hadRecentInput) globalThis.shifted += value;
        }
      }).observe({ type: "layout-shift", buffered: true });
    }`);
    for (const [width, height] of [[1280, 800], [390, 700]]) {
      await page.setViewportSize({ width, height });
      await app.go(`/sessions/${it.session_id}`);
      assertStringIncludes(await words(await drawn(app, 1)), "good bye");
      await drawn(app);
      const shifted = await page.evaluate("shifted") as number;
      assert(shifted <= SHIFT_MAX, `${shifted} at ${width} px`);
      const { x, width: wide } =
        (await page.locator("figure.diagram iframe").first().boundingBox())!;
      assert(x >= 0 && x + wide <= width, `${x} and ${wide} of ${width}`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    const back = async () =>
      await (await drawn(app)).evaluate(
        "getComputedStyle(document.documentElement).backgroundColor",
      );
    const figure = () =>
      page.locator("figure.diagram").first().evaluate((it) =>
        // deno-lint-ignore no-explicit-any -- the page's globals
        (globalThis as any).getComputedStyle(it).backgroundColor
      );
    const light = await figure();
    assertEquals(await back(), light);
    await page.emulateMedia({ colorScheme: "dark" });
    await until(async () => await figure() !== light, "another colour");
    await until(async () => await back() === await figure(), "the colour of the page");
    await app.accessible("a dark diagram");
    await page.emulateMedia({ colorScheme: "light", forcedColors: "active" });
    await drawn(app);
    const line = await (await drawn(app)).locator("svg .node :is(rect, polygon)").first().evaluate(
      // deno-lint-ignore no-explicit-any -- the page's globals
      (it) => (globalThis as any).getComputedStyle(it).stroke,
    );
    assertEquals(line, "rgb(0, 0, 0)");
    await app.accessible("a diagram in forced colours");
    app.clean("colours");
  },
});

Deno.test({
  name: "a diagram takes no keys from the page, and a large one is scrolled and left by keys",
  ignore: no_browser,
  async fn() {
    const chain = Array.from({ length: 40 }, (_, n) => `  N${n} --> N${n + 1}`).join("\n");
    await using it = await Scenario.begin([
      { text: fenced(`---\ntitle: The chain\n---\ngraph TD\n${chain}`) },
    ]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const picture = page.getByTitle("Diagram: The chain").and(page.locator(":not(.undrawn)"));
    for (const [width, height] of [[1440, 800], [390, 700]]) {
      await page.setViewportSize({ width, height });
      const box = (await picture.boundingBox())!;
      await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog").getByRole("combobox").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });

      await page.getByRole("button", { name: "Enlarge the diagram" }).press("Enter");
      const large = page.getByRole("dialog", { name: "Diagram" });
      const frame = large.locator("iframe:not(.undrawn)");
      await frame.waitFor();
      const { height: high } = (await frame.boundingBox())!;
      assert(high > 2_000, `${high} px at ${width} px`);
      await page.keyboard.press("Tab");
      await app.focused(".diagram-whole");
      await page.keyboard.press("End");
      await app.holds("document.querySelector('.diagram-whole').scrollTop > 1000", "its end");
      await app.accessible("a large diagram");
      const whole = (await large.locator(".diagram-whole").boundingBox())!;
      await page.mouse.click(whole.x + whole.width / 2, whole.y + whole.height / 2);
      await page.keyboard.press("Escape");
      await large.waitFor({ state: "detached" });
      await app.focusKept();
    }
    app.clean("keys");
  },
});

Deno.test({
  name: "the bars of a plan can be read in the dark",
  ignore: no_browser,
  async fn() {
    const bars = ["done :done, a, 2026-01-01, 9d", "now :active, 9d", "late :crit, 9d", "next :9d"];
    await using it = await Scenario.begin([
      { text: fenced(`gantt\n  section One\n  ${bars.join("\n  section Two\n  ")}`) },
    ]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    await app.page.emulateMedia({ colorScheme: "dark" });
    await app.go(`/sessions/${it.session_id}`);
    const frame = await drawn(app);
    // The text is light: what is below it is not.
    const lightest = (selector: string) =>
      frame.locator(selector).evaluateAll((all) =>
        // deno-lint-ignore no-explicit-any -- the page's globals
        all.map((it) => (globalThis as any).getComputedStyle(it).fill.match(/\d+/g).map(Number))
          .map((rgb: number[]) => Math.max(...rgb))
      );
    const [texts, below] = [await lightest("svg text.taskText"), await lightest("svg rect.task")];
    assertEquals([texts.length, below.length], [bars.length, bars.length]);
    assert(Math.min(...texts) > 200 && Math.max(...below) < 100, `${texts} on ${below}`);
    app.clean("a plan");
  },
});

Deno.test({
  name: "a diagram that is wrong or too large is its code, with a line that says why",
  ignore: no_browser,
  async fn() {
    const nodes = Array.from({ length: 10_000 }, (_, n) => `  N${n} --> N${n + 1}`).join("\n");
    await using it = await Scenario.begin([
      { text: fenced("graph TD\n  A --> --> B[") },
      { text: [fenced(`graph TD\n${nodes}`)] },
      { text: fenced("no diagram at all") },
    ]);
    await using browser = await shared.profile();
    for (
      const [why, code] of [[/^Not drawn: .*line 2/, "A --> --> B["], [
        /^Not drawn: it has more than/,
        "N0 --> N1",
      ], [/^Not drawn: .{10,200}$/, "no diagram at all"]] as const
    ) {
      await it.turn("go");
      const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
      const figure = app.page.locator("figure.diagram").last();
      assertMatch(await figure.locator(".diagram-failure").innerText(), why);
      await figure.getByRole("group", { name: "Code of the diagram" }).getByText(code).first()
        .waitFor();
      assertEquals(await figure.locator("iframe").count(), 0);
      await app.accessible("a diagram that is not drawn");
      app.clean("wrong diagrams");
    }
  },
});

Deno.test({
  name: "the largest diagrams that are drawn at all are drawn, or ended in time",
  ignore: no_browser,
  async fn() {
    const many = (count: number, line: (n: number) => string) =>
      Array.from({ length: count }, (_, n) => line(n)).join("\n");
    const large = [
      `graph TD\n${many(148, (n) => `  N${n * 7 % 50} --> N${n * 13 % 61}`)}`,
      `graph TD\n${many(297, (n) => `  N${n}[${"word ".repeat(8)}]`)}`,
      `sequenceDiagram\n${many(147, (n) => `  A${n % 20}->>A${n % 19}: ${n}`)}`,
      `stateDiagram-v2\n${many(147, (n) => `  s${n % 40} --> s${n % 37}`)}`,
    ];
    await using it = await Scenario.begin(large.map((code) => ({ text: [fenced(code)] })));
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    for (const _ of large) {
      await it.turn("go");
      await app.go(`/sessions/${it.session_id}`);
      const figure = app.page.locator("figure.diagram").last();
      await figure.locator("iframe:not(.undrawn), .diagram-failure").first().waitFor();
      const failures = await figure.locator(".diagram-failure").allInnerTexts();
      assert(failures.every((it) => it === "Not drawn: it takes too long"), failures.join());
    }
  },
});

/** Each tries to reach out of where it is drawn. */
const HOSTILE = [
  'graph TD\n  A[one] --> B[two]\n  click A "javascript:alert(1)"\n' +
  '  click B href "%evil%/link" _top',
  'graph TD\n  A[one] --> B\n  click A call alert(1)\n  click B callback "tip"',
  'graph TD\n  A["<img src=%evil%/x onerror=alert(1)>one"] --> ' +
  'B["<script>alert(1)</script><iframe src=%evil%/></iframe>"]',
  '%%{init: {"securityLevel": "loose", "htmlLabels": true, "flowchart": {"htmlLabels": true}, ' +
  '"themeCSS": "@import url(%evil%/css); * { background: url(%evil%/b) }", ' +
  '"fontFamily": "x; } @font-face { font-family: y; src: url(%evil%/font) } "}}%%\n' +
  "graph TD\n  A[\"<a href='%evil%'>one</a>\"] --> B",
  "---\nconfig:\n  securityLevel: loose\n  htmlLabels: true\n---\ngraph TD\n  A[one] --> B\n" +
  '  click A "%evil%" _parent',
  "graph TD\n  A[one] --> B\n  classDef x fill:url(%evil%/fill),background:" +
  "url(%evil%/back)\n  class A x",
  'graph TD\n  A@{ img: "%evil%/node.png", label: "one", w: 60, h: 60 }',
  "sequenceDiagram\n  participant A\n  link A: one @ javascript:alert(1)\n  A->>A: one",
];

Deno.test({
  name: "no diagram runs anything, leads anywhere or asks for anything",
  ignore: no_browser,
  async fn() {
    const asked: string[] = [];
    await using evil = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
      asked.push(new URL(request.url).pathname);
      return new Response("found", { headers: { "access-control-allow-origin": "*" } });
    });
    const url = `http://127.0.0.1:${evil.addr.port}`;
    const hostile = HOSTILE.map((code) => code.replaceAll("%evil%", url));
    await using it = await Scenario.begin(hostile.map((code) => ({ text: fenced(code) })));
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    const alerts: string[] = [];
    page.on("dialog", async (dialog) => {
      alerts.push(dialog.message());
      await dialog.dismiss();
    });
    let shown = 0;
    for (const code of hostile) {
      await it.turn("go");
      await app.go(`/sessions/${it.session_id}`);
      const figure = page.locator("figure.diagram").last();
      await figure.locator("iframe:not(.undrawn), .diagram-failure").first().waitFor();
      if (await figure.locator(".diagram-failure").count() > 0) continue;
      shown++;
      const handle = await figure.locator("iframe").elementHandle();
      const frame = (await handle!.contentFrame())!;
      const links = "[href]:not(use, filter, marker, linearGradient), [onclick], script, iframe";
      assertEquals([code, await frame.locator(`svg :is(${links})`).count()], [code, 0]);
      for (const node of await frame.locator("svg .node, svg text").all()) {
        // The frame takes no clicks of a person's.
        await node.dispatchEvent("click", {}, { timeout: 2_000 }).catch(() => {});
      }
      assertEquals([code, frame.url()], [code, `${it.daemon.url}${PAGE}`]);
    }
    assert(shown >= 5, `${shown} were drawn`);
    assertEquals(asked, []);
    // It would have been there.
    await (await fetch(`${url}/control`)).text();
    assertEquals(asked, ["/control"]);
    assertEquals([alerts, page.context().pages().length], [[], 1]);
    assertEquals(new URL(page.url()).pathname, `/sessions/${it.session_id}`);
  },
});

/** What code in a page reaches. Only what is in here is there. */
async function reach(): Promise<Record<string, boolean>> {
  // deno-lint-ignore no-explicit-any -- the page's globals, of which Deno has no types
  const global = globalThis as any;
  const works = async (work: () => unknown) => {
    try {
      const found = await work();
      return found !== undefined && found !== null && found !== false;
    } catch {
      return false;
    }
  };
  const socket = () =>
    new Promise((resolve, reject) => {
      const opened = new WebSocket(`ws://${global.location.host}/v1/ws`, ["svc.proto.v1"]);
      opened.onerror = reject;
      opened.onopen = opened.onclose = () => resolve(true);
    });
  const image = () =>
    new Promise((resolve, reject) => {
      const made = global.document.createElement("img");
      made.onload = resolve;
      made.onerror = reject;
      made.src = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=";
    }).then(() => true);
  const worker = () =>
    new Promise((resolve, reject) => {
      const made = new global.Worker(URL.createObjectURL(new Blob(["postMessage(1)"])));
      made.onerror = reject;
      made.onmessage = () => resolve(true);
    });
  const script = () => {
    const made = global.document.createElement("script");
    made.textContent = "globalThis.ran = true";
    global.document.head.append(made);
    return global.ran;
  };
  return {
    token: await works(async () => (await (await fetch("/v1/discover")).json()).token),
    socket: await works(socket),
    image: await works(image),
    script: await works(script),
    storage: await works(() => global.localStorage),
    cookies: await works(() => global.document.cookie !== undefined),
    page: await works(() => global.parent.document.body),
    worker: await works(worker),
  };
}

Deno.test({
  name: "even code of an attacker's in a diagram's frame reaches neither the page nor the daemon",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: fenced(FLOW) }]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const frame = await drawn(app);
    const nothing = { token: false, socket: false, image: false, script: false, storage: false };
    assertEquals(await frame.evaluate(reach), {
      ...nothing,
      cookies: false,
      page: false,
      worker: false,
    });
    // The same in the page itself works, but for what its own policy and the frame's origin refuse.
    const control = await page.evaluate(reach);
    assertEquals(control, {
      ...nothing,
      token: true,
      image: true,
      storage: true,
      cookies: true,
      page: true,
      worker: true,
      socket: control.socket,
    });
    // It may go nowhere: then the page takes it away.
    await frame.evaluate("top.location = 'https://evil.example/'").catch(() => {});
    await frame.evaluate("open('https://evil.example/')").catch(() => {});
    assertEquals(page.context().pages().length, 1);
    await frame.evaluate("location = 'https://evil.example/'").catch(() => {});
    await page.locator(".diagram-failure").getByText("it has left its page").waitFor();
    assertEquals(framesOf(app), []);
    assertEquals(new URL(page.url()).pathname, `/sessions/${it.session_id}`);

    // Opened by itself it has no origin either.
    await page.goto(`${it.daemon.url}${PAGE}`);
    assertEquals(await page.evaluate("origin"), "null");
    const { token, storage } = await page.evaluate(reach);
    assertEquals([token, storage], [false, false]);
  },
});

Deno.test({
  name: "a diagram that does not end is ended, and the page goes on meanwhile",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: fenced(FLOW) }]);
    await it.turn("go");
    // Chromium's engine without its windows gives a frame without an origin no process of its own.
    await using browser = await Browser.launch("--site-per-process");
    const app = await AppPage.open(browser, it.daemon, "/cost");
    const { page } = app;
    await page.addInitScript(`
      if (location.pathname === "${PAGE}") addEventListener("message", () => { for (;;); });
    `);
    await app.go(`/sessions/${it.session_id}`);
    await page.locator(".diagram-failure").getByText("it takes too long").waitFor();
    await page.getByRole("group", { name: "Code of the diagram" }).waitFor();
    assertEquals(await page.locator("iframe").count(), 0);
  },
});
