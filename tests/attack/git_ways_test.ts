/**
 * What a session runs beside the commands of its model plants programs in the git directories of a
 * project: by each of {@linkcode WAYS}, while it runs, after it, after `chmod`, after the turn and
 * after the daemon was killed. It succeeds when the person's git runs one outside of the sandbox,
 * which leaves a mark, unless the person was told of a repository that is new.
 */
import { delay } from "@std/async";
import { join, relative } from "@std/path";
import { attacksBy, type Loot, sharedStage, Stage } from "./kit.ts";
import {
  agentSession,
  packed,
  paused,
  pausing,
  toldIn,
  type Way,
  WAYS,
  WAYS_STAGE,
} from "./ways.ts";

const attack = attacksBy("what runs for a session");
const it = sharedStage(WAYS_STAGE);
const AS = "-c user.name=a -c user.email=a@b -c init.defaultBranch=main " +
  "-c protocol.file.allow=always";
const COMMIT = `git ${AS} commit -q --allow-empty -m first`;

/** A repository with another one, a submodule, a linked working tree and a bare one in it. */
const MADE = `git init -q -b main . && ${COMMIT} && ` +
  `git init -q -b main a/nested && (cd a/nested && ${COMMIT}) && ` +
  `git init -q -b main .src && (cd .src && ${COMMIT}) && ` +
  `git ${AS} submodule --quiet add ./.src sub && ${COMMIT} && git worktree add -q wt && ` +
  "git clone -q --bare a/nested bare && " +
  "for g in . a/nested sub bare; do git -C $g config extensions.worktreeConfig true; done";

/** What git runs leaves where it was run. */
const HOOK = `printf '#!/bin/sh\\npwd >> %s/ran\\n' "$M"`;
const SETTINGS = `printf '[core]\\n\\tfsmonitor = "pwd >> %s/ran #"\\n' "$M"`;
const EVIL = "mkdir -p $G/evil; cp -r $R/.git/HEAD $R/.git/objects $R/.git/refs $G/evil/; " +
  `{ printf '[core]\\n\\tbare = false\\n'; ${SETTINGS}; } > $G/evil/config`;
const IN_EACH = (write: string) =>
  "for G in $R/.git $R/a/nested/.git $R/.git/modules/sub $R/.git/worktrees/wt $R/bare; do " +
  `chmod 755 $G $G/hooks $G/info; chmod 644 $G/config; ${write}; done`;

interface Write {
  /** `$R` is the top of the project, `$M` where marks are left. */
  line: string;
  /** In how many places the person's git is led astray. */
  places: number;
  /** Whether it makes something new, which may be there if the person is told. */
  is_new?: boolean;
}

const WRITES: Record<string, Write> = {
  "settings": { line: IN_EACH(`${SETTINGS} >> $G/config`), places: 5 },
  "settings by a rename": {
    line: IN_EACH(`cp $G/config x && ${SETTINGS} >> x && mv -f x $G/config`),
    places: 5,
  },
  "settings of a working tree": {
    line: IN_EACH(`${SETTINGS} > x; mv -f x $G/config.worktree`),
    places: 5,
  },
  "a hook": {
    line: IN_EACH(
      `mkdir -p $G/hooks; ${HOOK} > $G/hooks/reference-transaction; ` +
        "chmod 755 $G/hooks/reference-transaction",
    ),
    places: 5,
  },
  "a directory of hooks made anew": {
    line: IN_EACH(
      `mv $G/hooks $G/old; mkdir $G/hooks; ${HOOK} > $G/hooks/reference-transaction; ` +
        "chmod 755 $G/hooks/reference-transaction",
    ),
    places: 5,
  },
  "a link in the place of the hooks": {
    line: IN_EACH(
      `mkdir -p h; ${HOOK} > h/reference-transaction; chmod 755 h/reference-transaction; ` +
        'rm -rf $G/hooks; ln -s "$PWD/h" $G/hooks',
    ),
    places: 5,
  },
  "another common directory": {
    line: IN_EACH(`${EVIL}; rm -f $G/commondir; echo evil > $G/commondir`),
    places: 4,
  },
  "git directories made anew": {
    line: IN_EACH(`mv $G $G.old; cp -r $G.old $G; ${SETTINGS} >> $G/config`),
    places: 3,
  },
  "pointers of checkouts": {
    line: `G=$R/.git; ${EVIL}; for d in $R/sub $R/wt; do rm -f $d/.git; ` +
      "echo gitdir: $G/evil > $d/.git; done; mv $R/a/nested/.git $R/a/nested/old; " +
      "echo gitdir: $G/evil > $R/a/nested/.git",
    places: 3,
  },
  "a repository that it made": {
    line: `git init -q made; ${SETTINGS} >> made/.git/config; ` +
      "for g in a/made a/b/c/made; do git clone -q --bare a/nested $g; " +
      `${HOOK} > $g/hooks/reference-transaction; chmod 755 $g/hooks/reference-transaction; done`,
    places: 3,
    is_new: true,
  },
  "a directory above a repository made anew": {
    line: `mv a o; cp -r o a; ${SETTINGS} >> a/nested/.git/config`,
    places: 1,
    is_new: true,
  },
};

/** What the person does: asks for the state of each checkout, and makes a branch. */
const LOOK = "for d in . a/nested sub wt made; do [ -e $d ] && (cd $d && " +
  "git status; git update-ref refs/heads/look-$$ HEAD); done; " +
  "for b in bare a/made a/b/c/made; do [ -e $b/HEAD ] && git --git-dir=$b --work-tree=a status; " +
  "git -C $b update-ref refs/heads/look-$$ HEAD; done; true";

let count = 0;
const templates = new WeakMap<Stage, Promise<string>>();

interface Project {
  stage: Stage;
  /** Its top. */
  root: string;
  /** Where marks are left. */
  marks: string;
}

/** A project of the victim's that nothing has happened in yet. */
async function project(stage: Stage): Promise<Project> {
  const { victim } = stage;
  if (!templates.has(stage)) {
    const cwd = stage.workdir("template");
    templates.set(stage, victim.sh(MADE, { cwd }).then(() => cwd));
  }
  const template = await templates.get(stage)!;
  const root = join(victim.home, `project-${++count}`);
  const marks = stage.workdir(`marks-${count}`);
  await victim.sh(
    `cp -a ${template} ${root} && ` +
      `sed -i 's#${template}/#${root}/#' ${root}/wt/.git ${root}/.git/worktrees/wt/gitdir`,
  );
  return { stage, root, marks };
}

/** Where the person's git has run what was planted, as far as it was not told. */
async function seen({ stage, root, marks }: Project, told = ""): Promise<string[]> {
  await stage.victim.sh(LOOK, { cwd: root });
  const lines = await stage.victim.sh(`sort -u ${marks}/ran 2>/dev/null`);
  await stage.victim.sh(`rm -f ${marks}/ran`);
  return lines.trim().split("\n").filter((line) => line !== "")
    .map((line) => relative(root, line) || ".")
    .filter((place) => !told.includes(` ${place}/.git (`) && !told.includes(` ${place} (`));
}

const loot = (places: string[]): Loot => places.length === 0 ? undefined : places.join(", ");

const lineOf = ({ root, marks }: Project, script: string) => packed(script, { R: root, M: marks });

/** The person runs the same: their git then runs what it planted. */
function control(stage: Stage, { line, places }: Write) {
  return async () => {
    const made = await project(stage);
    await stage.victim.sh(`${lineOf(made, line)} 2>&1 || true`, { cwd: made.root });
    const found = await seen(made);
    if (found.length < places) throw new Error(`only in ${found.join(", ")}`);
    return loot(found);
  };
}

const controls = new Map<string, Promise<Loot>>();

function controlOnce(stage: () => Stage, what: string) {
  return () => {
    const key = `${stage().victim.name} ${what}`;
    if (!controls.has(key)) controls.set(key, control(stage(), WRITES[what])());
    return controls.get(key)!;
  };
}

/** One run by a way, looked at while it runs and after it; then once more after `chmod`. */
async function attempt(stage: Stage, way: Way, { line, is_new }: Write): Promise<Loot> {
  const made = await project(stage);
  const { root } = made;
  const { session_id, ended } = await way.begin(stage, root, lineOf(made, pausing(line)));
  const place = await paused(root, ended);
  const during = is_new ? [] : await seen(made);
  stage.victim.write(join(place, "go"), "", 0o644);
  await ended;
  const told = await toldIn(stage, session_id);
  const after = await seen(made, is_new ? told : "");
  await stage.call("session.kill", { session_id });
  return loot([...during, ...after]);
}

for (const [by, way] of Object.entries(WAYS)) {
  const { needs } = way;
  for (const [what, write] of Object.entries(WRITES)) {
    // What is made there is not in the project, and what is new is committed as files.
    if (way.in_worktree && write.is_new) continue;
    attack(`by ${by}, plants ${what}`, {
      needs,
      control: controlOnce(() => it.stage, what),
      attempt: async () => await attempt(it.stage, way, write),
    });
  }

  attack(`by ${by}, plants another common directory after chmod`, {
    needs,
    control: controlOnce(() => it.stage, "another common directory"),
    async attempt() {
      const { stage } = it;
      const made = await project(stage);
      const shut = IN_EACH("chmod 555 $G $G/hooks $G/info");
      const first = await way.begin(stage, made.root, lineOf(made, shut));
      await first.ended;
      const { line } = WRITES["another common directory"];
      const { session_id } = first;
      const second = await way.begin(stage, made.root, lineOf(made, line), session_id);
      await second.ended;
      await stage.call("session.kill", { session_id: second.session_id });
      return loot(await seen(made));
    },
  });
}

// ── after the turn ─────────────────────────────────────────────────────────────────────────────

/** Goes on without what started it, until it is told to write. */
const late = (script: string) =>
  `(until [ -e late ]; do sleep 0.02; done; { ${script}; } >/dev/null 2>&1; : > did) ` +
  "</dev/null >/dev/null 2>&1 &";

/** Everything that must not be possible at all. */
const ALL = Object.values(WRITES).filter(({ is_new }) => !is_new).map(({ line }) => line).join(
  "; ",
);

/** Waits until something is there, but not for what never comes. */
async function there(path: string, tries = 150): Promise<boolean> {
  for (let n = 0; n < tries; n++) {
    if (await Deno.stat(path).catch(() => undefined)) return true;
    await delay(20);
  }
  return false;
}

async function controlLate(line: string): Promise<Loot> {
  const made = await project(it.stage);
  await it.stage.victim.sh(lineOf(made, late(line)), { cwd: made.root });
  it.stage.victim.write(join(made.root, "late"), "", 0o644);
  await there(join(made.root, "did"));
  return loot(await seen(made));
}

for (const [by, way] of Object.entries(WAYS)) {
  if (way.in_worktree) continue;
  const { needs } = way;
  const CHANGED = { ...WRITES["settings"], line: ALL };
  const MAKES = WRITES["a repository that it made"];
  for (const [what, write] of Object.entries({ "what is there": CHANGED, "a repository": MAKES })) {
    attack(`by ${by}, plants ${what} by a child that outlives the turn`, {
      needs,
      control: () => controlLate(write.line),
      async attempt() {
        const { stage } = it;
        const made = await project(stage);
        const { session_id, ended } = await way.begin(
          stage,
          made.root,
          lineOf(made, late(write.line)),
        );
        await ended;
        stage.victim.write(join(made.root, "late"), "", 0o644);
        const did = await there(join(made.root, "did"), way.lives_on ? 3_000 : 10);
        if (way.lives_on && !did) throw new Error("what lives on did not write");
        const told = write.is_new ? await toldIn(stage, session_id) : "";
        await stage.call("session.kill", { session_id });
        return loot(await seen(made, told));
      },
    });
  }
}

// ── when the daemon is killed ──────────────────────────────────────────────────────────────────

for (
  const by of [
    "the project's tests, which the model runs",
    "the check of a mission",
    "the process of an agent",
    "a project's tool server",
  ]
) {
  const way = WAYS[by];
  attack(`by ${by}, leaves another common directory when the daemon is killed`, {
    needs: way.needs,
    control: controlOnce(() => it.stage, "another common directory"),
    async attempt() {
      await using stage = await Stage.open(WAYS_STAGE);
      const made = await project(stage);
      const { line } = WRITES["another common directory"];
      const { session_id, ended } = await way.begin(stage, made.root, lineOf(made, pausing(line)));
      ended.catch(() => {});
      await paused(made.root, ended);
      const during = await seen(made);
      await stage.daemon.kill();
      const killed = await seen(made);
      stage.daemon = await stage.serve();
      await stage.call("session.get", { session_id });
      return loot([...during, ...killed, ...await seen(made)]);
    },
  });
}

// ── a process in a session that must not write ─────────────────────────────────────────────────

for (const approval of ["ask", "read_only"]) {
  attack(`by the process of an agent, plants anything in a session with approval ${approval}`, {
    needs: WAYS["the process of an agent"].needs,
    control: () => control(it.stage, { line: ALL, places: 3 })(),
    async attempt() {
      const { stage } = it;
      const made = await project(stage);
      const session_id = await agentSession(stage, made.root, { approval });
      const line = `${ALL}; ${WRITES["a repository that it made"].line}`;
      await stage.turn(session_id, `run ${lineOf(made, line)}`);
      await stage.call("session.kill", { session_id });
      return loot(await seen(made));
    },
  });
}

// ── as root ────────────────────────────────────────────────────────────────────────────────────

const root = sharedStage({ ...WAYS_STAGE, own_user: true });

for (const [by, way] of Object.entries(WAYS)) {
  for (const what of ["settings", "another common directory"]) {
    attack(`of root, by ${by}, plants ${what}`, {
      needs: [...way.needs, "root"],
      control: controlOnce(() => root.stage, what),
      attempt: async () => await attempt(root.stage, way, WRITES[what]),
    });
  }
}
