import { Opener } from "../../base/lazy.ts";
import { feature } from "../../verbs/feature.ts";

/** Tells models where they work. */
export const context = feature({
  name: "context",
  open(host) {
    const teller = new Opener(async () => {
      const { openTeller } = await import("./open.ts");
      return openTeller(host);
    });
    return {
      services: {},
      beforeModel: async (session, turn) => await (await teller.get()).tell(session, turn),
      async afterCalls(session, turn, calls) {
        const { pathsOf } = await import("./rules_places.ts");
        await (await teller.get()).touched(session, turn, pathsOf(calls));
      },
      stop: () => teller.opened?.then((it) => it[Symbol.dispose]()),
    };
  },
});
