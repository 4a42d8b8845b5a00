/** How soon open pages show their session again, after the next daemon can be found. */
import { Browser, chromiumPath } from "../tests/support/browser.ts";
import { Scenario } from "../tests/support/scripted.ts";
import { kept, Tabs } from "../tests/support/tabs.ts";
import { appBuilt } from "../tests/support/web.ts";
import { type Figure, median, short } from "./figures.ts";

/** More restarts than fit on a page would push the answer out of it. */
const RUNS = 5;
const ANSWER = "the first answer";

/** Three open pages over crashes and restarts. */
export async function back(): Promise<Figure[]> {
  if (chromiumPath() === undefined || Deno.build.os !== "linux") return [];
  await appBuilt();
  return [
    await figure("a crash", async (it) => {
      Deno.kill(it.place.discovery().pid, "SIGKILL");
      await it.daemon.ended();
      it.daemon = await it.place.serve();
    }),
    await figure("svc serve restart", (it) => it.place.svc(["serve", "restart"])),
  ];
}

async function figure(how: string, restart: (it: Scenario) => Promise<unknown>): Promise<Figure> {
  await using it = await Scenario.begin([{ text: ANSWER }]);
  await it.turn("one");
  await using browser = await Browser.launch();
  const tabs = await Tabs.open(browser, it.place, it.session_id, ANSWER);
  const all: number[] = [];
  for (let n = 0; n < RUNS; n++) {
    await kept(it.place);
    all.push(await tabs.backAfter(how, () => restart(it)));
  }
  return {
    id: `back_${how.replaceAll(" ", "_")}`,
    name: `web: three open pages back after ${how}`,
    unit: "ms",
    value: median(all),
    note: `the last of them, after the next daemon could be found; median of ${RUNS}, ` +
      `${short(Math.max(...all))} at worst, aim 2,000`,
  };
}
