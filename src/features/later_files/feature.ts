import { join } from "@std/path";
import { Opener } from "../../base/lazy.ts";
import { realHome } from "../../os/files.ts";
import { feature } from "../../verbs/feature.ts";
import { Marks } from "../../session/marks.ts";
import type { LaterFilesWatch } from "./watch.ts";

/** Reports files of a turn that other programs run later. */
export const laterFiles = feature({
  name: "later_files",
  open({ hub, log, paths, env, turn_parts }) {
    const marks = new Marks(join(paths.anchors, "watching"));
    const opener = new Opener<LaterFilesWatch>(async () => {
      const { LaterFilesWatch } = await import("./watch.ts");
      return new LaterFilesWatch({
        log,
        marks,
        home: realHome(env),
        session: (id) => hub.get(id),
        hidden: turn_parts.hidden,
        added: turn_parts.added,
      });
    });
    return {
      services: {},
      async resume() {
        for (const [session_id, text] of marks.read()) {
          await (await opener.get()).resume(await hub.get(session_id), text);
        }
      },
      async beforeWrite(session, turn) {
        await (await opener.get()).beforeWrite(session, turn);
      },
      async watchWrites(session) {
        return await (await opener.get()).watch(session);
      },
      async afterTurn(session) {
        await (await opener.opened)?.afterTurn(session);
      },
      onEvents(session, events) {
        if (!events.some(({ type }) => type === "background.ended")) return;
        opener.opened?.then((watch) => watch.look(session), () => {});
      },
      onEnded(session_id) {
        opener.opened?.then((watch) => watch.forget(session_id), () => {});
      },
    };
  },
});
