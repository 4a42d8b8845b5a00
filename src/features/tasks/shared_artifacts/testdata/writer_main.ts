/** Stores artifacts in a directory until it is killed, and prints each one that is stored. */
import { artifactOf } from "../../../../../tests/support/artifact_stores.ts";
import { openSharedArtifacts } from "../open.ts";

const [dir, task_id] = Deno.args;
const store = await openSharedArtifacts(dir, { env: () => undefined });

await Promise.all([1, 2, 3, 4].map(async (writer) => {
  for (let number = 0;; number++) {
    const content = `${writer} ${number}\n`.repeat(100_000);
    const { bytes, ...artifact } = await artifactOf(content);
    await store.put(task_id, artifact, bytes);
    console.log(JSON.stringify(artifact));
  }
}));
