/** What a tool is: a schema and a handler that stand together, and what both may use. */
import * as z from 'zod'
import { check, type RpcClient } from '../rpc/client.ts'
import type { Answer } from './answer.ts'
import type { Wrapper } from './provenance.ts'

/** Hints for the host; all four are always given. */
export interface Annotations {
  readOnlyHint: boolean
  destructiveHint: boolean
  idempotentHint: boolean
  openWorldHint: boolean
}

export interface ToolContext {
  call: RpcClient['call']
  wrapper: Wrapper
  /** Aborted when the agent no longer waits. */
  signal: AbortSignal
  /** What is shown to this agent counts as read by its user. */
  marksRead: boolean
  /** Runs a state-changing call with its idempotency key; see call-keys.ts. */
  withKey<T>(args: unknown, send: (metadata: { client_idempotency_key: string }) => Promise<T>): Promise<T>
}

export interface ToolDefinition<Input> {
  name: string
  title: string
  /** At most 1 KiB: when to call it, what comes back, what next. */
  description: string
  annotations: Annotations
  input: z.ZodType<Input>
  /** @throws ApiError */
  run(input: Input, context: ToolContext): Promise<Answer>
}

export interface Tool {
  name: string
  title: string
  description: string
  annotations: Annotations
  inputSchema: { type: 'object'; [keyword: string]: unknown }
  /** @throws ApiError invalid_params and whatever the tool throws */
  run(args: unknown, context: ToolContext): Promise<Answer>
}

export const READS: Annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: true,
}
export const WRITES: Annotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: true,
}
/** It ends something that cannot be opened again. */
export const ENDS: Annotations = { ...WRITES, destructiveHint: true }

export function tool<Input>(definition: ToolDefinition<Input>): Tool {
  const { name, title, description, annotations, input, run } = definition
  const schema = z.toJSONSchema(input, { io: 'input', override: preferAnyOf })
  // Hosts know the dialect; some stumble over its name.
  delete schema.$schema
  return {
    name,
    title,
    description,
    annotations,
    inputSchema: { ...schema, type: 'object' },
    run: async (args, context) => run(check(input, args), context),
  }
}

/** Some hosts know anyOf and not oneOf; the alternatives differ by their type, so that both mean the same here. */
function preferAnyOf({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.oneOf === undefined) return
  jsonSchema.anyOf = jsonSchema.oneOf
  delete jsonSchema.oneOf
}
