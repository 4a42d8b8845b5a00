/** What the web app takes in a real Chromium, where there is one. */
import { Browser, chromiumPath } from "../tests/support/browser.ts";
import { writeHistory, writeIndex } from "../tests/support/histories.ts";
import { Scenario } from "../tests/support/scripted.ts";
import { Place } from "../tests/support/svc.ts";
import { appBuilt, AppPage } from "../tests/support/web.ts";
import {
  contentMs,
  heapBytes,
  inputDelays,
  longestScrollFrame,
  longestTask,
  paintMs,
  repaints,
  watchContent,
  watchInput,
  watchLongTasks,
  watchRepaints,
} from "../tests/support/web_load.ts";
import { type Figure, median, percentile, short } from "./figures.ts";

const LOADS = 15;
/** As long as Chromium is busy with a new page at most. */
const REST_MS = 400;
/** A journal of this size has some 20,000 events. */
const LONG_BYTES = 3_900_000;
const DELTAS_PER_S = 500;
const STREAM_S = 30;
const KEYS = 100;
const THOUGHTS = 20_000;
const SESSIONS = 50;
const WARM = 5;
const MB = 1e6;

/** Loading, a long transcript, a fast stream, memory. */
export async function web(): Promise<Figure[]> {
  if (chromiumPath() === undefined) return [];
  return [...await loading(), ...await streaming(), ...await thinking(), ...await leaving()];
}

async function loading(): Promise<Figure[]> {
  await using place = new Place();
  const long = writeHistory(place.mkdir("project"), LONG_BYTES);
  writeIndex(place, [long]);
  await appBuilt();
  const daemon = await place.serve();
  /** @param selector of the content; without it the first thing that is painted counts. */
  const times = async (path: string, selector?: string) => {
    const all: number[] = [];
    // A browser that runs already, to which the page is new: the first load warms it up.
    await using browser = await Browser.launch();
    for (let n = 0; n <= LOADS; n++) {
      const context = await browser.context.browser()!.newContext();
      if (selector !== undefined) await context.addInitScript(watchContent, selector);
      const page = await context.newPage();
      // What the browser does for a new profile is not the page's.
      await page.waitForTimeout(REST_MS);
      await page.goto(`${daemon.url}${path}`);
      all.push(await (selector === undefined ? paintMs(page) : contentMs(page)));
      await context.close();
    }
    return all.slice(1);
  };
  // As little as a page can be, from the same daemon: what the browser takes for itself.
  const bare = median(await times("/v1/discover"));
  const first = await times("/", "tbody tr");
  const path = `/sessions/${long.id}`;
  const opened = await times(path, "[role=log] [data-role]");
  await using browser = await Browser.launch();
  const { page } = await AppPage.open(browser, daemon, path);
  await page.locator("[role=log] [data-role]").first().waitFor();
  const frame = await longestScrollFrame(page, "[role=log]");
  const note = (all: number[]) => `median of ${all.length}, ${short(Math.max(...all))} at worst`;
  return [
    {
      id: "web_first",
      name: "web: sessions shown",
      unit: "ms",
      value: median(first),
      note: `${note(first)}; a page of one line is painted after ${short(bare)}, ` +
        `the machine's load is ${short(Deno.loadavg()[0])}`,
    },
    {
      id: "web_open",
      name: `web: ${long.last_seq} events shown`,
      unit: "ms",
      value: median(opened),
      note: note(opened),
    },
    {
      id: "web_scroll",
      name: "web: longest frame while it scrolls",
      unit: "ms",
      value: frame,
      note: "from its end to its beginning",
    },
  ];
}

async function streaming(): Promise<Figure[]> {
  const text = Array.from(
    { length: DELTAS_PER_S * STREAM_S },
    (_, n) => n % 60 === 59 ? `word${n}.\n\n` : `word${n} `,
  );
  await using it = await Scenario.begin([{ text, pace_ms: 1000 / DELTAS_PER_S }]);
  await using browser = await Browser.launch();
  const { page } = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
  const box = page.getByLabel("Message", { exact: true });
  await box.focus();
  await watchRepaints(page, "[role=log]");
  await watchInput(page);
  const began = performance.now();
  const turn = it.client.turn(it.session_id, "go", 4 * STREAM_S * 1000)
    .then(() => performance.now() - began);
  for (let n = 0; n < KEYS; n++) {
    await page.keyboard.press("a");
    await page.waitForTimeout(STREAM_S * 1000 / KEYS);
  }
  const seconds = await turn / 1000;
  const delays = await inputDelays(page, KEYS);
  const { count, ms } = await repaints(page);
  return [{
    id: "web_input",
    name: `web: a key, at ${short(text.length / seconds)} deltas/s`,
    unit: "ms",
    value: percentile(delays, 0.98),
    note: `p98 of ${delays.length}, median ${short(median(delays))}; ` +
      `${short(count / (ms / 1000))} changes of the page a second`,
  }];
}

/** A model that thinks for long, as one reads it. */
async function thinking(): Promise<Figure[]> {
  const reasoning = Array.from(
    { length: THOUGHTS },
    (_, n) => n % 60 === 59 ? `word${n}.\n\n` : `word${n} `,
  );
  const script = [{ reasoning: ["short"], text: "first" }, { reasoning, text: "end", pace_ms: 1 }];
  await using it = await Scenario.begin(script, { record: false });
  await using browser = await Browser.launch();
  const { page } = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
  // What is loaded for any conversation is not counted.
  await it.turn("go");
  await page.getByRole("log").getByText("first").waitFor();
  const before = await heapBytes(page);
  await watchLongTasks(page);
  await watchInput(page);
  let ended = false;
  const turn = it.client.turn(it.session_id, "go", 4 * THOUGHTS).then(() => ended = true);
  await page.locator("summary", { hasText: "Thinking" }).click();
  await page.getByLabel("Message", { exact: true }).focus();
  let keys = 0;
  while (!ended) {
    await page.keyboard.press("a");
    keys++;
    await page.waitForTimeout(THOUGHTS / KEYS);
  }
  await turn;
  await page.getByRole("log").getByText("end", { exact: true }).waitFor();
  const delays = await inputDelays(page, keys);
  const longest = await longestTask(page);
  const size = reasoning.join("").length;
  const heap = await heapBytes(page) - before;
  return [
    {
      id: "web_think",
      name: `web: a key, while ${short(size / 1000)} kB of thinking come, open`,
      unit: "ms",
      value: percentile(delays, 0.98),
      note: `p98 of ${delays.length}, median ${short(median(delays))}; the longest task took ` +
        (longest === 0 ? "less than 50" : short(longest)),
    },
    {
      id: "web_think_heap",
      name: "web: heap for that thinking",
      unit: "MB",
      value: heap / MB,
      note: `${THOUGHTS} pieces; ${short(heap / size)} times its text`,
    },
  ];
}

async function leaving(): Promise<Figure[]> {
  await using place = new Place();
  const histories = Array.from(
    { length: SESSIONS },
    (_, n) => writeHistory(place.mkdir(`project-${n}`), 500_000),
  );
  writeIndex(place, histories);
  const daemon = await place.serve();
  await using browser = await Browser.launch();
  const { page } = await AppPage.open(browser, daemon);
  const visit = async (id: string) => {
    await page.getByRole("main").locator(`a[href="/sessions/${id}"]`).click();
    await page.locator("[role=log] [data-role=assistant]").first().waitFor();
    await page.goBack();
    await page.getByRole("table").waitFor();
  };
  // What is loaded and compiled once stays: it is no leak.
  for (const { id } of histories.slice(0, WARM)) await visit(id);
  const before = await heapBytes(page);
  for (const { id } of histories) await visit(id);
  const after = await heapBytes(page);
  return [{
    id: "web_heap",
    name: `web: heap after ${SESSIONS} sessions`,
    unit: "MB",
    value: after / MB,
    note: `${short(before / MB)} before`,
  }];
}
