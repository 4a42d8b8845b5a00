/**
 * A model, or a directory that somebody else made, wants more of undo than its own files: what lies
 * outside, programs that svc runs for it, or the store itself.
 */
import { join } from "@std/path";
import { attacksBy, lootOf, sharedStage } from "./kit.ts";

const attack = attacksBy("model");
const it = sharedStage();
const NEEDS = { needs: ["git", "sandbox"] } as const;

let count = 0;

/** A session in a directory, in which these commands ran, a turn each. */
async function worked(...commands: string[]): Promise<{ workdir: string; session_id: string }> {
  const { stage } = it;
  const workdir = stage.workdir(`undo-${++count}`);
  const session_id = await stage.session(workdir);
  for (const command of commands) await stage.run(session_id, `run ${command}`);
  return { workdir, session_id };
}

attack("has a file outside kept through a link, and reads it in the changes", {
  ...NEEDS,
  async control() {
    const { stage } = it;
    const { workdir, session_id } = await worked("echo first >copy");
    await stage.victim.sh(`cp '${stage.secret_file}' copy`, { cwd: workdir });
    await stage.run(session_id, "run touch other; cp copy kept");
    const { patch } = await stage.call("session.changes", { session_id });
    return lootOf(patch, stage.secret);
  },
  async attempt() {
    const { stage } = it;
    const { session_id } = await worked(
      `ln -s '${stage.secret_file}' link; ln -s '${join(stage.secret_file, "..")}' dir`,
    );
    const { patch } = await stage.call("session.changes", { session_id, full: true });
    return lootOf(patch, stage.secret);
  },
});

attack("has a file outside written by a rewind through a link in the place of a directory", {
  ...NEEDS,
  async control() {
    const { stage } = it;
    const outside = stage.workdir(`outside-${++count}`);
    const { workdir } = await worked("mkdir d; echo pwned >d/file");
    await stage.victim.sh(`mv d e; ln -s '${outside}' d; cp e/file d/file`, { cwd: workdir });
    return lootOf(await stage.victim.sh("cat file", { cwd: outside }), "pwned");
  },
  async attempt() {
    const { stage } = it;
    const outside = stage.workdir(`outside-${++count}`);
    const { session_id } = await worked(
      "mkdir d; echo pwned >d/file",
      `mv d e; ln -s '${outside}' d`,
    );
    await stage.call("session.rewind", { session_id });
    return lootOf(await stage.victim.sh("cat file 2>&1; true", { cwd: outside }), "pwned");
  },
});

attack("reads the store of file states", {
  ...NEEDS,
  async control() {
    const { workdir } = await worked("touch a");
    const found = await it.stage.victim.sh("find . -name files.git", { cwd: workdir });
    return lootOf(found, "files.git");
  },
  async attempt() {
    const { session_id } = await worked("touch a");
    const { stage } = it;
    const found = await stage.run(session_id, "run find . -name files.git; ls -laR .svc");
    return lootOf(found, "files.git/");
  },
});

attack("has a program run by a .git that is a file and names another directory", {
  ...NEEDS,
  async control() {
    const { workdir } = await withGitFile();
    await it.stage.victim.sh("git status", { cwd: workdir });
    return lootOf(await it.stage.victim.sh("cat ran 2>&1; true", { cwd: workdir }), "pwned");
  },
  async attempt() {
    const { workdir, session_id } = await withGitFile();
    const { stage } = it;
    await stage.run(session_id, "run touch b");
    await stage.call("session.changes", { session_id });
    await stage.call("session.rewind", { session_id });
    return lootOf(await stage.victim.sh("cat ran 2>&1; true", { cwd: workdir }), "pwned");
  },
});

/** A directory whose `.git` is a file, and whose attributes and configuration name a program. */
async function withGitFile(): Promise<{ workdir: string; session_id: string }> {
  const made = await worked("touch a");
  const { workdir } = made;
  const script = join(workdir, "evil.sh");
  it.stage.victim.write(script, `#!/bin/sh\necho pwned >>'${workdir}/ran'\ncat\n`, 0o755);
  await it.stage.victim.sh(
    `git init -q --bare g && git -C g config core.bare false && ` +
      `git -C g config core.fsmonitor '${script}' && git -C g config filter.x.clean '${script}' && ` +
      `echo '${workdir}' >g/objects/info/alternates && echo "gitdir: $PWD/g" >.git && ` +
      `echo '* filter=x diff=x' >.gitattributes`,
    { cwd: workdir },
  );
  return made;
}
