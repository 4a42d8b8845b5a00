import * as z from "zod";
import { trust } from "../../protocol/schemas/session.ts";

export const serverItemSchema = () =>
  z.object({
    name: z.string(),
    scope: z.enum(["operator", "project"]),
    transport: z.enum(["stdio", "http"]),
    trust: trust(),
    enabled: z.boolean(),
    problem: z.string().optional().describe("Why the server cannot be used"),
    connected: z.int().describe("Number of running programs or open connections"),
    breaker: z.enum(["closed", "open", "half_open", "probing"]),
    breaker_until: z.string().optional()
      .describe("When an open circuit breaker lets the next call through"),
    tools: z.int().optional().describe("Number of its tools, once they have been listed"),
    logged_in: z.literal(true).optional().describe("Present if a login for the server is saved"),
  });

export const projectServersSchema = () =>
  z.object({
    file: z.string().describe("Path of the file"),
    sha256: z.string().describe("SHA-256 of the file's text"),
    approved: z.boolean().describe("Whether a person approved this text for this directory"),
    runs: z.record(z.string(), z.record(z.string(), z.unknown()))
      .describe("What the file defines, by server"),
  });
