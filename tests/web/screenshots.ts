/** Makes pictures of all that people see: {@linkcode USAGE}. */
import { fromFileUrl, join } from "@std/path";
import { parseArgs } from "@std/cli/parse-args";
import { Browser } from "../support/browser.ts";
import { startOpenAiServer } from "../support/model_servers.ts";
import { Scenario, until } from "../support/scripted.ts";
import { Place } from "../support/svc.ts";
import { policyOf, stdioEntry } from "../support/tool_servers.ts";
import { appBuilt, AppPage } from "../support/web.ts";
import { Album } from "./screenshots_album.ts";
import { takePanels } from "./screenshots_panels.ts";
import { takeQuestions } from "./screenshots_questions.ts";
import { PRICES, recordViews } from "./screenshots_records.ts";
import { takeStates } from "./screenshots_states.ts";
import { takeTerminals } from "./screenshots_terminal.ts";

const root = fromFileUrl(new URL("../..", import.meta.url));

const BEFORE = `export function total(items) {
  let sum = 0;
  for (const item of items) sum += item.price;
  return sum;
}
`;
const AFTER = BEFORE.replace("sum += item.price;", "sum += item.price * (item.quantity ?? 1);");
const ANSWER = `The basket counted every item once. Two things to know:

1. \`quantity\` may be missing; it counts as **one** then.
2. The tests cover \`0\`, too.

| case | before | after |
|---|---|---|
| two of $5 | $5 | $10 |
| no quantity | $5 | $5 |

\`\`\`js
total([{ price: 5, quantity: 2 }]); // 10
\`\`\`
`;

/** A session with something of everything, and others beside it. */
async function scene(): Promise<Scenario> {
  const edit = { path: "src/basket.js", old_text: BEFORE, new_text: AFTER };
  const it = await Scenario.begin([
    { text: "I look at the basket first.", calls: [call("grep", { pattern: "total" })] },
    { text: "", calls: [call("read_file", { path: "src/basket.js" })] },
    { text: "The sum leaves out the quantity.", calls: [call("edit_file", edit)] },
    { text: "", calls: [call("run_command", { command: "sh test.sh" })] },
    { text: ANSWER },
  ], {
    start: { title: "Basket forgets the quantity" },
    toml: PRICES,
    policy: policyOf(
      stdioEntry("issues", { trust: "trusted" }),
      stdioEntry("tickets", { auth_env: "TICKETS_TOKEN" }),
      stdioEntry("nightly-builds-of-the-old-release-branch", { enabled: false }),
    ),
  });
  Deno.mkdirSync(join(it.workdir, "src"));
  Deno.writeTextFileSync(join(it.workdir, "src", "basket.js"), BEFORE);
  const test =
    "echo 'ok 1 - two of a kind'; echo 'ok 2 - no quantity'; sleep 2.5; echo 'ok 3 - none'";
  Deno.writeTextFileSync(join(it.workdir, "test.sh"), `${test}\n`);
  for (
    const [title, name] of [
      ["Upgrade the parser", "parser"],
      [
        "Why is the nightly build slow?",
        "a-directory-with-a-rather-long-name-below-another/nightly",
      ],
      ["A title that somebody wrote without ever thinking of how long it gets ".repeat(2), "notes"],
    ]
  ) {
    await it.client.rpc.call("session.start", { workdir: it.place.mkdir(name), title });
  }
  await it.turn("The basket shows the wrong total when I buy two of something. Fix it, please.");
  return it;
}

/** A mission half of which is done, in the instruction language of the embedded model. */
const MISSION = {
  id: "parser",
  name: "A parser that recovers from errors",
  sessions: [{
    id: "s1",
    title: "The parser",
    tasks: [
      { id: "grammar", description: "run echo 'expr = term' > grammar.txt" },
      { id: "lexer", description: "run cp grammar.txt lexer.txt", dependencies: ["grammar"] },
      { id: "recovery", description: "run date > recovery.txt", dependencies: ["grammar"] },
      {
        id: "parser",
        description: "run cat lexer.txt recovery.txt > parser.txt",
        dependencies: ["lexer", "recovery"],
        files: ["parser.txt"],
      },
    ],
    acceptance_criteria: [
      { id: "there", description: "The parser is there", file_exists: "parser.txt" },
      {
        id: "complete",
        description: "It has the grammar",
        command: "grep -q term parser.txt && echo 'ok 1 - has the grammar'",
      },
    ],
  }, {
    id: "s2",
    title: "Its release",
    tasks: [
      { id: "benchmark", description: "run sleep 600" },
      { id: "changelog", description: "run echo new > CHANGELOG", dependencies: ["parser"] },
    ],
    acceptance_criteria: [
      { id: "fast", description: "100,000 lines take less than a second", command: "sh bench.sh" },
    ],
  }],
};

const UNATTENDED = { model: "builtin/toolbelt", approval: "auto" };

/** Begins {@linkcode MISSION} and one that is done. @returns the id of the first, once it is half done. */
async function missions({ client: { rpc }, place }: Scenario): Promise<string> {
  const create = (name: string, spec: unknown) =>
    rpc.call("mission.create", { workdir: place.mkdir(name), spec, ...UNATTENDED });
  const [session] = MISSION.sessions;
  await create("old", { ...MISSION, name: "The old parser", sessions: [session] });
  const { mission_id } = await create("recovery", MISSION);
  const state = async (id: string) => await rpc.call("mission.get", { mission_id: id });
  await until(async () => (await state(mission_id)).criteria_passed === 2, "half of a mission");
  return mission_id;
}

function call(name: string, args: unknown) {
  return { name, args };
}

/** Each view, and how it gets into the state that is shown. */
function views(it: Scenario, mission_id: string): Record<string, (app: AppPage) => Promise<void>> {
  const session = `/sessions/${it.session_id}`;
  return {
    // First: a command of the mission at work has two minutes.
    missions: async (app) => {
      await app.go("/missions");
      await app.page.getByRole("table").waitFor();
    },
    "mission-new": async (app) => {
      await app.go("/missions");
      await app.page.getByRole("button", { name: "New mission" }).click();
      await app.page.getByLabel("Directory", { exact: true }).fill(it.place.dir);
    },
    mission: async (app) => {
      await app.go(`/missions/${mission_id}`);
      await app.page.getByRole("group", { name: "Task graph" }).waitFor();
    },
    "mission-criteria": async (app) => {
      await app.go(`/missions/${mission_id}`);
      await app.page.getByRole("button", { name: "Evidence for complete" }).click();
      await app.page.getByRole("group", { name: "Evidence for complete" }).waitFor();
    },
    "mission-log": async (app) => {
      await app.go(`/missions/${mission_id}`);
      await app.page.getByRole("log").scrollIntoViewIfNeeded();
    },
    sessions: async (app) => {
      await app.go("/");
      await app.page.getByRole("table").waitFor();
    },
    create: async (app) => {
      await app.go("/");
      await app.page.getByLabel("New session", { exact: true }).fill("Mend the failing test.");
      await app.page.getByRole("button", { name: /^Directory:/ }).click();
      await app.page.getByRole("combobox", { name: "Directory" }).fill(`${it.place.dir}/`);
      await app.page.getByRole("option", { name: "parser" }).waitFor();
    },
    "session-menu": async (app) => {
      await app.go("/");
      await app.page.getByRole("button", { name: "Actions for Upgrade the parser" }).click();
      await app.page.getByRole("menuitem", { name: "Delete…" }).waitFor();
    },
    said: async (app) => {
      await app.go("/");
      await app.page.getByLabel("Search sessions").fill("quantity");
      await app.page.getByRole("region", { name: "In conversations" }).getByRole("link").first()
        .waitFor();
    },
    // A page that is loaded again keeps its filter.
    "sessions-none": async (app) => {
      await app.go("/");
      await app.page.getByLabel("Search sessions").fill("nothing is called so");
      await app.page.getByText("No sessions match").waitFor();
    },
    session: async (app) => {
      await app.go(session);
      await app.page.getByText("no quantity").last().waitFor();
      // The colours of code come after it.
      await app.page.locator(".diff [class^=hl-]").first().waitFor();
      await app.page.locator(".code [class^=hl-]").first().waitFor();
    },
    "session-more": async (app) => {
      await app.go(session);
      await app.page.getByText("no quantity").last().waitFor();
      await app.page.getByRole("button", { name: "More" }).click();
      await app.page.getByRole("button", { name: "Kill", exact: true }).waitFor();
    },
    "session-model": async (app) => {
      await app.go(session);
      await app.page.getByText("no quantity").last().waitFor();
      await app.page.getByRole("button", { name: /^Model: / }).click();
      await app.page.getByRole("listbox", { name: "Model" }).getByRole("option").first().waitFor();
    },
    lanes: async (app) => {
      await app.go(session);
      await app.openPanel("Lanes");
      await app.page.getByRole("heading", { name: "Lanes" }).waitFor();
    },
    lane: async (app) => {
      const { lanes } = await it.call("lanes.list");
      await app.go(`${session}/lanes/${lanes.at(-1).lane_id}`);
      await app.page.getByRole("group", { name: "Output" }).waitFor();
    },
    palette: async (app) => {
      await app.go(session);
      await app.page.getByText("no quantity").last().waitFor();
      await app.page.keyboard.press("Control+k");
      await app.page.getByRole("option", { name: /^session\.start/ }).waitFor();
    },
    verb: async (app) => {
      await app.go(session);
      await app.page.keyboard.press("Control+k");
      await app.page.getByRole("option", { name: /^session\.get/ }).click();
      await app.page.getByRole("button", { name: "Run session.get" }).click();
      await app.page.getByRole("status", { name: "Result" }).waitFor();
    },
    tools: async (app) => {
      await app.go("/tools");
      await app.page.getByRole("button", { name: "Tools of issues" }).click();
      await app.page.getByRole("button", { name: "Try echo" }).waitFor();
    },
    "tool-call": async (app) => {
      await app.go("/tools");
      await app.page.getByRole("button", { name: "Tools of issues" }).click();
      await app.page.getByRole("button", { name: "Try echo" }).click();
      await app.page.getByRole("textbox", { name: "arguments" }).fill('{ "text": "hello" }');
      await app.page.getByRole("button", { name: "Call echo" }).click();
      await app.page.getByRole("status", { name: "Result" }).waitFor();
    },
    "no-session": async (app) => {
      await app.go("/sessions/sess_00000000000000000000000000");
      await app.page.getByRole("alert").getByText("no session").waitFor();
    },
    "not-found": async (app) => {
      await app.go("/nowhere");
      await app.page.getByText("Page not found").waitFor();
    },
  };
}

/** Takes every view of the web app but the questions. */
async function takeViews(album: Album, browser: Browser): Promise<void> {
  await using it = await scene();
  const app = await AppPage.open(browser, it.daemon);
  const all = { ...views(it, await missions(it)), ...await recordViews(it) };
  for (const [name, view] of Object.entries(all)) await album.addView(app, name, () => view(app));

  await app.go(`/sessions/${it.session_id}`);
  await it.daemon.kill();
  await album.addView(
    app,
    "offline",
    () => app.page.getByText("Offline").waitFor({ state: "attached" }),
  );
}

/** Takes the first page of somebody who has no model yet. */
async function takeModels(album: Album, browser: Browser): Promise<void> {
  const server = startOpenAiServer(() => ({ text: "" }), { api_key: "sk-right" });
  await using place = new Place({ OPENAI_BASE_URL: server.url });
  const app = await AppPage.open(browser, await place.serve());
  const { page } = app;
  const tryKey = async (path: string, key: string, said: RegExp) => {
    await app.go(path);
    await page.getByLabel("Provider").selectOption("openai");
    await page.getByLabel("Key", { exact: true }).fill(key);
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "API key" }).getByText(said).scrollIntoViewIfNeeded();
  };
  await album.addView(app, "models-refused", () => tryKey("/", "sk-wrong", /does not accept/));
  await album.addView(app, "models-saved", () => tryKey("/settings", "sk-right", /The key works/));
  await server.close();
}

/** What can be taken alone, by its name for `--only`. */
const PARTS = {
  views: takeViews,
  models: takeModels,
  states: takeStates,
  panels: takePanels,
  questions: takeQuestions,
  terminals: takeTerminals,
};

const USAGE = `Usage: sh install/dev.sh screenshots [options]

Makes pictures of every view of the web app in light and dark, in four sizes, and of what svc shows
in a terminal. Those that the documentation shows are written to docs/screenshots, too.

Options:
  --out FOLDER   Where they go; dist/screenshots by default
  --only PART    One part alone: ${Object.keys(PARTS).join(", ")}
  --help         Show this help`;

async function main(): Promise<void> {
  const { out, only, help } = parseArgs(Deno.args, {
    string: ["out", "only"],
    boolean: ["help"],
    default: { out: join(root, "dist", "screenshots") },
    unknown(argument) {
      console.error(`screenshots: unknown argument ${argument}; --help lists what there is`);
      Deno.exit(2);
    },
  });
  if (help) return console.log(USAGE);
  const parts = Object.entries(PARTS).filter(([name]) => only === undefined || only === name);
  if (parts.length === 0) throw new Error(`--only takes ${Object.keys(PARTS).join(", ")}`);
  const album = new Album(out);
  await using browser = await Browser.launch();
  await appBuilt();
  // Each part waits for processes most of the time. All end in order, also if one fails.
  const taken = await Promise.allSettled(parts.map(([, take]) => take(album, browser)));
  for (const it of taken) if (it.status === "rejected") throw it.reason;
  if (only === undefined) album.requireKept();
}

if (import.meta.main) await main();
