import { bind, type BoundVerb, type VerbOf } from "./define.ts";
import type { GivenOption, Host, StartOption, UsableFeature } from "./host.ts";
import type { Section } from "../config/section.ts";
import type { Migration, Migrations } from "../os/state_db.ts";
import type { Agents, Opened } from "./opened.ts";

/** A feature with bound verbs. */
interface OpenFeature extends Omit<Opened<unknown>, "services"> {
  readonly name: string;
  readonly bound: readonly BoundVerb[];
}

interface FeatureParts {
  /** In the log and in the state database. */
  readonly name: string;
  /** Steps that create its tables in the state database. */
  migrations?(): Promise<readonly Migration[]>;
}

interface Feature<V, S, C extends Section = Section> extends FeatureParts {
  readonly verbs: readonly V[];
  /** Its tables in daemon.toml. */
  readonly sections: readonly C[];
  open(host: Host): Opened<S>;
}

/** The services that all these verbs need. */
type ServicesOf<V> = (V extends VerbOf<infer S> ? (services: S) => void : never) extends
  (services: infer S) => void ? S : never;

/** Defines a feature; its services must fit its verbs. */
export function feature<
  S extends ServicesOf<V>,
  V extends VerbOf<never> = never,
  C extends Section = never,
>(
  definition: FeatureParts & {
    verbs?: readonly V[];
    sections?: readonly C[];
    open(host: Host): Opened<S>;
  },
): Feature<V, S, C> {
  const { verbs = [], sections = [] } = definition;
  return { ...definition, verbs, sections };
}

/** The migrations of features. */
export async function migrationsOf(features: readonly FeatureParts[]): Promise<Migrations> {
  const entries = features.flatMap(({ name, migrations }) =>
    migrations === undefined ? [] : migrations().then((steps) => [name, steps])
  );
  return Object.fromEntries(await Promise.all(entries));
}

/** Names of the optional functions of features. */
type Hook = {
  [N in keyof Opened<unknown>]-?: NonNullable<Opened<unknown>[N]> extends
    (...args: never) => unknown ? N
    : never;
}[keyof Opened<unknown>];
type HookOf<N extends Hook> = Extract<Opened<unknown>[N], (...args: never) => unknown>;

/** The features of one daemon, in order. */
export class OpenFeatures {
  readonly all: readonly OpenFeature[];
  /** Agents for models without a provider. */
  readonly agents: readonly Agents[];
  readonly #hooks = new Map<Hook, ((...args: unknown[]) => unknown)[]>();

  constructor(features: readonly Feature<VerbOf<never>, unknown>[], core: Omit<Host, "use">) {
    const services = new Map<unknown, unknown>();
    const use = <S>(feature: UsableFeature<S>): S => {
      if (services.has(feature)) return services.get(feature) as S;
      throw new Error(`${feature.name} must stand earlier in the list of features`);
    };
    const host: Host = { ...core, use };
    this.all = features.map((feature) => {
      const { services: own, ...rest } = feature.open(host);
      services.set(feature, own);
      return { name: feature.name, bound: bind(feature.verbs as VerbOf<unknown>[], own), ...rest };
    });
    this.agents = this.all.flatMap(({ agents }) => agents ?? []);
  }

  /** Calls a hook of all features that have it, in order. Returns their results. */
  each<N extends Hook>(
    hook: N,
    ...args: Parameters<HookOf<N>>
  ): NonNullable<ReturnType<HookOf<N>>>[] {
    let found = this.#hooks.get(hook);
    if (found === undefined) {
      found = this.all.flatMap((it) => (it[hook as keyof OpenFeature] ?? []) as typeof found & []);
      this.#hooks.set(hook, found);
    }
    return found.map((call) => call(...args)) as NonNullable<ReturnType<HookOf<N>>>[];
  }
}

/** Defines an option that the command line can give a feature. */
export function startOption<T>(): StartOption<T> {
  const option: StartOption<T> = (value) => ({ option, value });
  return option;
}

/** The given value of an option. */
export function givenOf<T>(given: readonly GivenOption[], option: StartOption<T>): T | undefined {
  return given.find((it) => it.option === option)?.value as T | undefined;
}
