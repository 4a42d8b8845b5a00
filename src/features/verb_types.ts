/** The types of every verb, from its schemas, for those who call it by its name. */
import type * as z from "zod";
import type { TYPED_VERBS } from "./registry.ts";

type Verbs = typeof TYPED_VERBS[number];

/** The name of a verb. */
export type VerbName = Verbs["name"];

type Named<N extends VerbName> = Extract<Verbs, { readonly name: N }>;

/** What a verb takes. */
export type Params<N extends VerbName> = z.input<Named<N>["input"]>;

/** What a verb gives. */
export type Result<N extends VerbName> = z.output<ReturnType<Named<N>["output"]>>;
