/** All views at once: hostile text in each, by keyboard, in forced colours, through a crash. */
import { assertEquals } from "@std/assert";
import type { Locator, Page } from "playwright-core";
import { Browser } from "../support/browser.ts";
import { acting, countRuns, IMAGE } from "../support/hostile.ts";
import type { Answer, ParsedRequest } from "../support/model_servers.ts";
import { Scenario, until } from "../support/scripted.ts";
import { policyOf, stdioEntry } from "../support/tool_servers.ts";
import { AppPage, no_browser } from "../support/web.ts";
import { BYPASSES } from "./bypasses.ts";

/** Not imported by name: the app is checked with the types of a browser, its tests are not. */
const { ROUTES }: { ROUTES: { path: string; nav?: { label: string } }[] } = await import(
  new URL("../../web/src/routes.tsx", import.meta.url).href
);

const HOSTILE = `${IMAGE}\n\n${BYPASSES.slice(0, 12).join("\n\n")}`;
const OUTPUT = `echo '${IMAGE}'; sleep 4`;
const PRICES = '[prices."local/model-1"]\ninput = 30\noutput = 150\n';

/** Says something hostile; first it runs a command, or writes a file, where it was told to. */
function hostileModel({ messages }: ParsedRequest): Answer {
  const text = HOSTILE;
  if (messages.at(-1)?.role !== "user") return { text };
  const said = JSON.stringify(messages);
  if (said.includes("Run it")) {
    return { text, calls: [{ name: "run_command", args: { command: OUTPUT } }] };
  }
  if (!said.includes("Write it")) return { text };
  return { text, calls: [{ name: "write_file", args: { path: `${IMAGE}.md`, content: HOSTILE } }] };
}

/** The ids that the paths of the views need. */
interface Ids {
  session: string;
  lane: string;
  mission: string;
  task: string;
}

/** Puts hostile text wherever a view shows text. */
async function fill(it: Scenario): Promise<Ids> {
  const { rpc } = it.client;
  await it.turn("Run it");
  const { lanes } = await it.call("lanes.list");
  const lane = lanes.find(({ kind }: { kind: string }) => kind === "tool");
  const unattended = { workdir: it.place.mkdir("mission"), model: it.model, approval: "auto" };
  const { mission_id } = await rpc.call("mission.create", {
    ...unattended,
    spec: {
      id: "hostile",
      name: IMAGE,
      sessions: [{
        id: "s",
        title: IMAGE,
        tasks: [{ id: "t", description: HOSTILE }],
        acceptance_criteria: [{ id: "c", description: IMAGE, command: `echo '${IMAGE}'` }],
      }],
    },
  });
  const { id: task } = await rpc.call("task.run", {
    task_type: "code",
    description: `Write it ${HOSTILE}`,
    extra: { workdir: it.place.mkdir("task"), model: it.model },
  });
  await rpc.call("cortex.remember", { content: HOSTILE, category: "fact", tags: [IMAGE] });
  await until(
    async () => (await rpc.call("mission.get", { mission_id })).status !== "running",
    "the end of the mission",
    60_000,
  );
  return { session: it.session_id, lane: lane.lane_id, mission: mission_id, task };
}

interface Visit {
  path(ids: Ids): string;
  /** What is there once the view has its content. */
  shows(page: Page): Locator;
  /** What stays the same through a restart; by default the whole view. */
  steady?(page: Page): Locator;
}

const hostile = (page: Page) =>
  page.getByRole("main").getByText(IMAGE).filter({ visible: true }).first();

/** How to see each route; by its path. */
const VISITS: Record<string, Visit> = {
  "/": { path: () => "/", shows: hostile },
  "/sessions/:id": {
    path: ({ session }) => `/sessions/${session}`,
    shows: (page) => page.getByRole("group", { name: "Output of run_command" }).getByText(IMAGE),
    steady: (page) => page.locator("[data-role=assistant], [data-role=user], .tool").last(),
  },
  "/sessions/:id/lanes/:lane_id": {
    path: ({ session, lane }) => `/sessions/${session}/lanes/${lane}`,
    shows: (page) => page.getByRole("group", { name: "Output" }).getByText(IMAGE),
  },
  "/questions": { path: () => "/questions", shows: (page) => page.getByText("No questions") },
  "/missions": { path: () => "/missions", shows: hostile },
  "/missions/:id": { path: ({ mission }) => `/missions/${mission}`, shows: hostile },
  "/tools": {
    path: () => "/tools",
    shows: (page) => page.getByRole("heading", { name: "prog" }),
    // Whether the server runs does change.
    steady: (page) => page.getByRole("heading", { name: "prog" }),
  },
  "/memory": { path: () => "/memory", shows: hostile },
  "/tasks": { path: () => "/tasks", shows: hostile },
  "/tasks/:id": { path: ({ task }) => `/tasks/${task}`, shows: hostile },
  "/cost": { path: () => "/cost", shows: hostile },
  "/settings": {
    path: () => "/settings",
    shows: (page) => page.getByLabel("Default model"),
    steady: (page) => page.locator("main form").first(),
  },
};

/** A view's text, without how long ago things were. */
async function steadyText(page: Page, { steady }: Visit): Promise<string> {
  const place = steady?.(page) ?? page.getByRole("main");
  return (await place.innerText()).replaceAll(/just now|\d+ (?:s|min|h) ago/g, "some time ago");
}

Deno.test("every route has its entry here", () => {
  assertEquals(Object.keys(VISITS), ROUTES.map(({ path }) => path));
});

Deno.test({
  name:
    "every route: hostile text does nothing, forced colours, the keyboard, a daemon that is killed",
  ignore: no_browser,
  async fn(t) {
    await using it = await Scenario.begin((request) => hostileModel(request), {
      start: { title: IMAGE },
      toml: PRICES,
      policy: policyOf(stdioEntry("prog")),
    });
    const ids = await fill(it);
    await using browser = await Browser.launch();
    await countRuns(browser.context);
    const opened: { route: string; visit: Visit; app: AppPage }[] = [];
    for (const [route, visit] of Object.entries(VISITS)) {
      await t.step(`${route}: nothing runs, axe finds nothing in forced colours`, async () => {
        const app = await AppPage.open(browser, it.daemon, visit.path(ids));
        opened.push({ route, visit, app });
        await visit.shows(app.page).waitFor();
        assertEquals(await acting(app.page), []);
        await app.page.emulateMedia({ forcedColors: "active" });
        await app.accessible(`${route} in forced colours`);
        await app.page.emulateMedia({ forcedColors: "none" });
        app.clean(route);
      });
    }

    await t.step("the views are reached by keyboard, and take the focus", async () => {
      const [{ app: { page } }] = opened;
      // It shows the first: that is gone back to at the end.
      const [first, ...others] = ROUTES.filter(({ nav }) => nav !== undefined);
      for (const { path, nav } of [...others, first]) {
        const { label } = nav!;
        await page.getByRole("link", { name: label, exact: true }).focus();
        await page.keyboard.press("Enter");
        await page.locator("h1:focus", { hasText: label }).waitFor();
        assertEquals(new URL(page.url()).pathname, path);
        await VISITS[path].shows(page).waitFor();
        await page.locator("h1:focus", { hasText: label }).waitFor();
      }
    });

    await t.step("after a crash each view comes back by itself, and shows the same", async () => {
      // It comes with the answer of the daemon.
      await opened[0].app.page.getByText("builtin/toolbelt").first().waitFor();
      const before = await Promise.all(opened.map(({ app, visit }) => steadyText(app.page, visit)));
      await it.daemon.kill();
      for (const { app } of opened) {
        await app.page.getByText(/Reconnecting…|Offline/).first().waitFor({ state: "attached" });
      }
      it.daemon = await it.place.serve();
      for (const [n, { route, visit, app }] of opened.entries()) {
        await app.connected();
        let text = "";
        const same = async () => (text = await steadyText(app.page, visit)) === before[n];
        await until(same, "the same text").catch(() => {});
        assertEquals([route, text], [route, before[n]]);
        assertEquals(await acting(app.page), []);
      }
    });
  },
});
