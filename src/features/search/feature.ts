import { dirname, join } from "@std/path";
import { Opener } from "../../base/lazy.ts";
import { exists } from "../../os/files.ts";
import { feature } from "../../verbs/feature.ts";
import { searchVerbs } from "./verbs.ts";

/** The index can be rebuilt from the journals. */
export const search = feature({
  name: "search",
  verbs: searchVerbs,
  open({ hub, paths, log }) {
    const path = join(dirname(paths.state_db), "search.db");
    const opened = new Opener(async () => {
      const { Searcher } = await import("./searcher.ts");
      return new Searcher({ path, log });
    });
    return {
      services: { hub, searcher: () => opened.get() },
      async onDeleted(id) {
        if (exists(path)) await (await opened.get()).remove(id);
      },
      stop: () => opened.opened?.then((it) => it.close()),
    };
  },
});
