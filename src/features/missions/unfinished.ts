import type { Host } from "../../verbs/host.ts";
import { hasUnfinishedMissions } from "./store.ts";

/** Reports whether a mission is unfinished. If not, a start loads nothing else of missions. */
export async function hasUnfinished({ openStateDb }: Host): Promise<boolean> {
  const db = await openStateDb();
  try {
    return hasUnfinishedMissions(db);
  } finally {
    db.close();
  }
}
