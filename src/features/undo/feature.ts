import { delay } from "@std/async";
import { dirname, join } from "@std/path";
import { Opener } from "../../base/lazy.ts";
import { readDirIfAny } from "../../os/files.ts";
import { removeTree } from "../../os/remove_tree.ts";
import { messageOf } from "../../protocol/errors.ts";
import { feature } from "../../verbs/feature.ts";
import type { Undo } from "./undo.ts";
import { undoVerbs } from "./verbs.ts";

const PREPARE_AFTER_MS = 100;

export const undo = feature({
  name: "undo",
  verbs: undoVerbs,
  open({ hub, ids, log, paths, sandbox, scope }) {
    const marks = join(paths.anchors, "rewinding");
    const fork_marks = join(paths.anchors, "forking");
    const closed = join(paths.home, "undo");
    const opener = new Opener<Undo>(async () => {
      const { Undo } = await import("./undo.ts");
      return new Undo({
        hub,
        ids,
        log,
        marks,
        fork_marks,
        closed,
        own: [paths.home, paths.runtime_dir],
        sandbox,
        hidden: (workdir) => scope(workdir).hidden,
      });
    });
    return {
      services: { hub, undo: () => opener.get() },
      async resume() {
        const cut_off = [marks, fork_marks].some((each) => readDirIfAny(each).length > 0);
        if (cut_off) await (await opener.get()).recoverAll();
      },
      beforeModel(session, turn) {
        // Nothing waits for it, and many turns are over by then.
        delay(PREPARE_AFTER_MS, turn).then(() => opener.get())
          .then((undo) => undo.prepare(session, turn)).catch(() => {});
        return Promise.resolve();
      },
      async beforeWrite(session, turn) {
        await (await opener.get()).beforeWrite(session, turn);
      },
      async afterTurn(session, turn) {
        await (await opener.opened)?.afterTurn(session, turn);
      },
      async quiesce() {
        (await opener.opened)?.stop();
      },
      async onDeleted(session_id) {
        await removeTree(join(closed, session_id));
        await Deno.remove(join(marks, session_id)).catch((error) => {
          if (!(error instanceof Deno.errors.NotFound)) throw error;
        });
      },
      onMoved(session_id) {
        opener.opened?.then((undo) => undo.sessionMoved(session_id), () => {});
      },
      onEnded(session_id) {
        opener.opened?.then((undo) => undo.sessionEnded(session_id), () => {});
        // An ended session cannot be rewound.
        const remove = async () => {
          await removeTree(join(closed, session_id));
          const { journal } = await hub.get(session_id);
          await removeTree(join(dirname(journal.path), "files.git"));
        };
        remove().catch((error) => {
          log.warn("cannot remove the states of a session's files", {
            session_id,
            error: messageOf(error),
          });
        });
      },
    };
  },
});
