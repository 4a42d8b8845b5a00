/**
 * Someone controls the host that releases come from, and what lies on the way, but not the key that
 * signs them. The control is the same update with the release as its maker signed it.
 */
import { join } from "@std/path";
import type { Signer } from "../../install/release_keys.ts";
import {
  cut,
  flipped,
  makeRelease,
  ownTarget,
  ReleaseServer,
  scriptBinary,
  testSigner,
  updateToml,
} from "../support/releases.ts";
import { attacksBy, type Loot, once, sharedStage } from "./kit.ts";

const attack = attacksBy("release");
const it = sharedStage();
const OLD = "0.0.1";
const NEW = "99.0.0";
const ARCHIVE = `svc-${ownTarget()}.tar.gz`;

let count = 0;

/** What a host makes of a release. */
interface Hostile {
  version?: string;
  /** Signs in the place of the maker. */
  signer?: Signer;
  tamper?(server: ReleaseServer): void | Promise<void>;
}

/** Updates from a release; what is installed then, when that is not what was before. */
async function updated({ version = NEW, signer, tamper }: Hostile = {}): Promise<Loot> {
  const { stage } = it;
  const { victim, svc_home } = stage;
  const maker = await testSigner();
  await using server = new ReleaseServer(join(stage.dir, `release-${++count}`));
  const binary = scriptBinary(version);
  await makeRelease({ out: server.dir, version, signer: signer ?? maker, binary });
  await tamper?.(server);
  const home = victim.mkdir(join(victim.home, `svc-${count}`), 0o700);
  victim.write(join(home, "daemon.toml"), updateToml(server, maker));
  const bin = victim.mkdir(join(home, "bin"), 0o700);
  const installed = victim.write(
    join(bin, "svc"),
    new TextDecoder().decode(scriptBinary(OLD)),
    0o755,
  );
  await stage.svc(["update"], { env: { SVC_HOME: home } }).catch(() => {});
  const said = await victim.sh(`${installed} --version`);
  const planted = [...Deno.readDirSync(bin)].map(({ name }) => name)
    .filter((name) => !["svc", "svc.previous"].includes(name));
  if (!said.includes(OLD)) return said;
  return planted.length > 0 ? `left in ${svc_home}: ${planted}` : undefined;
}

const genuine = once(() => updated());

const TRICKS: Record<string, Hostile> = {
  "whose archive was changed": { tamper: ({ faults }) => void faults.set(ARCHIVE, flipped) },
  "whose archive is cut": { tamper: ({ faults }) => void faults.set(ARCHIVE, cut) },
  "whose manifest was changed": {
    tamper: ({ faults }) =>
      void faults.set(
        "manifest.json",
        (bytes) => new TextDecoder().decode(bytes).replace(NEW, "99.0.1"),
      ),
  },
  "whose signature is missing": {
    tamper: ({ faults }) => void faults.set("manifest.json.sig", () => ""),
  },
  "with the archive of another one": {
    async tamper({ faults, dir }) {
      const other = `${dir}-other`;
      const signer = await testSigner();
      await makeRelease({ out: other, version: "99.9.9", signer, binary: scriptBinary("99.9.9") });
      const bytes = await Deno.readFile(join(other, ARCHIVE));
      faults.set(ARCHIVE, () => bytes);
    },
  },
  "that is older than what runs": { version: "0.0.0" },
};
for (const [what, trick] of Object.entries(TRICKS)) {
  attack(`has a release installed ${what}`, {
    needs: ["binary"],
    control: genuine,
    attempt: () => updated(trick),
  });
}

attack("has a release installed that another key signed", {
  needs: ["binary"],
  control: genuine,
  attempt: async () => updated({ signer: await testSigner() }),
});
