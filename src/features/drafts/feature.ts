import { Opener } from "../../base/lazy.ts";
import { exists } from "../../os/files.ts";
import { feature } from "../../verbs/feature.ts";
import { draftVerbs } from "./verbs.ts";

/** Messages that are being written: they outlive the page, and all pages of a session agree. */
export const drafts = feature({
  name: "drafts",
  verbs: draftVerbs,
  migrations: async () => (await import("./migrations.ts")).MIGRATIONS,
  open({ hub, log, paths, openStateDb }) {
    const opened = new Opener(async () => {
      const { Drafts } = await import("./drafts.ts");
      return new Drafts(await openStateDb());
    });
    const forget = async (session_id: string) => {
      if (exists(paths.state_db)) (await opened.get()).set(session_id, { text: "" });
    };
    return {
      services: { hub, drafts: () => opened.get() },
      onEnded: (id) =>
        void forget(id).catch((error) =>
          log.warn("cannot remove the draft of a session", { error: String(error) })
        ),
      onDeleted: forget,
      stop: () => opened.opened?.then((it) => it[Symbol.dispose]()),
    };
  },
});
