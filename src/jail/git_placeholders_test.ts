import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import { hold, letGo } from "./git_placeholders.ts";

const ignore = !granted("read", "write");

/** Reads a file as often as it can until it is told to end, and says which texts it has seen. */
const WATCH = `
self.onmessage = ({ data: path }) => {
  const seen = new Set();
  let begun = false;
  while (!seen.has("end")) {
    try {
      seen.add(Deno.readTextFileSync(path));
      if (!begun) self.postMessage("begun");
      begun = true;
    } catch { /* it is not there */ }
  }
  self.postMessage([...seen]);
};
self.postMessage("ready");
`;

function said(worker: Worker): Promise<unknown> {
  return new Promise((resolve) => worker.onmessage = ({ data }) => resolve(data));
}

Deno.test({
  name: "git never sees a placeholder without its text, however often it looks",
  ignore,
  async fn() {
    const dir = await Deno.makeTempDir();
    const path = join(dir, "commondir");
    const worker = new Worker(`data:text/javascript,${encodeURIComponent(WATCH)}`, {
      type: "module",
    });
    try {
      assertEquals(await said(worker), "ready");
      let begun = false;
      const first = said(worker).then(() => begun = true);
      worker.postMessage(path);
      // On a busy machine it may not have looked yet.
      for (let n = 0; n < 1_000 || !begun; n++) {
        if (n % 100 === 0) await delay(0);
        const holds: string[] = [];
        assert(hold(dir, "commondir", holds));
        letGo(holds);
      }
      assertEquals([...Deno.readDirSync(dir)], [], "nothing is left over");
      await first;
      const seen = said(worker);
      Deno.writeTextFileSync(`${path}.end`, "end");
      Deno.renameSync(`${path}.end`, path);
      assertEquals((await seen as string[]).sort(), [".\n", "end"]);
    } finally {
      worker.terminate();
      await Deno.remove(dir, { recursive: true });
    }
  },
});
