import { Opener } from "../../base/lazy.ts";
import { feature } from "../../verbs/feature.ts";

/** Names the sessions that have no title, after their first exchange. */
export const titles = feature({
  name: "titles",
  open({ config, models, cost, priced, ids, log }) {
    const opened = new Opener(async () => {
      const { Titler } = await import("./titler.ts");
      return new Titler({
        model: (id) => models().resolve(models().smallId(id) ?? id),
        cost,
        priced,
        newLaneId: () => ids.next("lane"),
        budget_usd: () => config().agent.budget_usd,
        log,
      });
    });
    return {
      services: {},
      onEvents(session, events) {
        const { untitled, model, trust, temporary } = session.state;
        if (untitled !== "message" || temporary || trust !== "trusted" || !config().agent.titles) {
          return;
        }
        if (
          !events.some(({ type, data }) => type === "turn.completed" && data.stop_reason === "ok")
        ) {
          return;
        }
        // Without a small model, a title would cost a second request to a large one.
        if (!models().answersRequests(model) || models().smallId(model) === undefined) return;
        opened.get().then((titler) => titler.name(session));
      },
      onEnded: (id) => void opened.opened?.then((titler) => titler.stop(id)),
      quiesce: () => opened.opened?.then((titler) => titler.stop()),
    };
  },
});
