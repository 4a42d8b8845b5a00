/** How soon open pages show their session again, after the next daemon can be found. */
import { Browser, chromiumPath } from "../tests/support/browser.ts";
import { Scenario } from "../tests/support/scripted.ts";
import { kept, Tabs } from "../tests/support/tabs.ts";
import { appBuilt } from "../tests/support/web.ts";
import { type Figure, median, short } from "./figures.ts";

const RUNS = 15;
const ANSWER = "the first answer";

/** Three open pages over crashes and restarts. */
export async function back(): Promise<Figure[]> {
  if (chromiumPath() === undefined || Deno.build.os !== "linux") return [];
  await appBuilt();
  await using it = await Scenario.begin([{ text: ANSWER }]);
  await it.turn("one");
  await using browser = await Browser.launch();
  const tabs = await Tabs.open(browser, it.place, it.session_id, ANSWER);
  const ways: Record<string, () => Promise<unknown>> = {
    "a crash": async () => {
      Deno.kill(it.place.discovery().pid, "SIGKILL");
      await it.daemon.ended();
      it.daemon = await it.place.serve();
    },
    "svc serve restart": () => it.place.svc(["serve", "restart"]),
  };
  const figures: Figure[] = [];
  for (const [how, restart] of Object.entries(ways)) {
    const all: number[] = [];
    for (let n = 0; n < RUNS; n++) {
      await kept(it.place);
      all.push(await tabs.backAfter(how, restart));
    }
    figures.push({
      id: `back_${how.replaceAll(" ", "_")}`,
      name: `web: three open pages back after ${how}`,
      unit: "ms",
      value: median(all),
      note: `the last of them, after the next daemon could be found; median of ${RUNS}, ` +
        `${short(Math.max(...all))} at worst, aim 2,000`,
    });
  }
  return figures;
}
