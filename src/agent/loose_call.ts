import type { ToolCall } from "../models/model.ts";
import { looseArgs } from "./loose_args.ts";
import type { Tool } from "./tool.ts";

/** What models put around the name of a tool. */
const AROUND = /^(functions|default_api|tools)[.:]|<\|.*$/g;

/** Returns a call as the tools in a step take it; unchanged if it is right, or ambiguous. */
export function readCall(tools: readonly Tool[], call: ToolCall): ToolCall {
  const tool = tools.find(({ spec }) => spec.name === call.tool) ?? meant(tools, call.tool);
  if (tool === undefined) return call;
  const { name, input_schema } = tool.spec;
  if (tool.own && name === call.tool && tool.parse(call.args).problem === undefined) return call;
  const { args, taken } = looseArgs(call.args, input_schema, { own: tool.own ?? false });
  // A call that is still wrong is refused as the model wrote it.
  const fits = taken.length > 0 && tool.parse(args).problem === undefined;
  if (name === call.tool && !fits) return call;
  const notes = [
    ...(name === call.tool ? [] : [`the tool ${name}: written as ${JSON.stringify(call.tool)}`]),
    ...(fits ? taken : []),
  ];
  const written = { tool: call.tool, args: call.args, notes };
  return { ...call, tool: name, args: fits ? args : call.args, written };
}

/** The only tool with this name, apart from case and decoration. */
function meant(tools: readonly Tool[], name: string): Tool | undefined {
  const plain = plainName(name.trim().replace(AROUND, ""));
  const same = tools.filter(({ spec }) => plainName(spec.name) === plain);
  return same.length === 1 ? same[0] : undefined;
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/[-\s]/g, "_");
}
