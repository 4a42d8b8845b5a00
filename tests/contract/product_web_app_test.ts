/** product.md: the embedded web app; `tests/web` has what it does in a browser. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { letGo } from "../../src/client/daemon_handle.ts";
import { sidecarAt } from "../support/desktop.ts";
import { rawHttp } from "../support/raw.ts";
import { Browser } from "../support/browser.ts";
import { Place } from "../support/svc.ts";
import { appBuilt, no_browser } from "../support/web.ts";
import { row } from "./row.ts";
import { Shared } from "./shared.ts";

const shared = new Shared();
const SECTION = "Web app";

/** The directives of section Web app. */
const DIRECTIVES: Record<string, string> = {
  "default-src": "'self'",
  "connect-src": "'self' ws://127.0.0.1:* http://127.0.0.1:*",
  "style-src": "'self' 'unsafe-inline'",
  "img-src": "'self' data: blob:",
  "script-src": "'self'",
  "worker-src": "'self' blob:",
  "frame-ancestors": "'none'",
};

async function page() {
  await appBuilt();
  return await rawHttp(shared.daemon.port, "GET", "/", { accept: "text/html" });
}

row("product", "What the service does", "5. a single-page web app at /", async () => {
  const { status, headers, body } = await page();
  assertEquals(status, 200);
  assertMatch(headers.get("content-type")!, /^text\/html/);
  assertMatch(body, /<script type="module" src="\/assets\/[\w-]+\.js">/);
});

row("product", "Endpoints: loopback HTTP", "GET / and its static assets: no token", async () => {
  const { body } = await page();
  const paths = [...body.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path);
  assert(paths.length >= 3);
  for (const path of paths) {
    assertEquals([path, (await rawHttp(shared.daemon.port, "GET", path)).status], [path, 200]);
  }
});

for (const [name, value] of Object.entries(DIRECTIVES)) {
  row("product", SECTION, `Content-Security-Policy: ${name} ${value}`, async () => {
    const { headers, body } = await page();
    const directivesOf = (policy: string) =>
      Object.fromEntries(
        policy.split("; ").map((directive) => directive.split(/ (.*)/s).slice(0, 2)),
      );
    const directives = directivesOf(headers.get("content-security-policy")!);
    assertEquals(directives[name], value);
    assertEquals(Object.keys(directives).sort(), Object.keys(DIRECTIVES).sort());
    const [, meta] = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(body)!;
    // Browsers refuse that one in a meta element.
    const in_html = name === "frame-ancestors" ? undefined : value;
    assertEquals(directivesOf(meta)[name], in_html);
  });
}

row("product", "Desktop sidecar discovery", "5. the banner", async () => {
  await appBuilt();
  await using browser = await Browser.launch();
  await using place = new Place();
  const bundled = await sidecarAt(place);
  try {
    for (
      const [url, banner] of [
        [`${shared.daemon.url}/`, "Connected (external)"],
        [bundled.url, "Bundled daemon"],
      ]
    ) {
      const shown = await browser.page(url);
      await shown.getByText(banner).waitFor();
      await shown.close();
    }
  } finally {
    await letGo(bundled);
  }
}, { ignore: no_browser });
