/** The methods that say who is in the workspace, shut somebody out, and look at what came from there too late. */
import * as z from 'zod'
import type { MemberListing, QuarantinedThread, RemovalResult } from '../node/api.ts'
import { check } from './refusals.ts'
import type { Method } from './schema.ts'
import * as shapes from './shapes.ts'

/** Method → parameters and result, as they travel. */
export interface RemovalMethods {
  'relay/members': { params: Record<string, never>; result: { items: MemberListing[] } }
  'relay/remove': { params: { name: string }; result: RemovalResult }
  'relay/quarantine': { params: Record<string, never>; result: { items: QuarantinedThread[] } }
  'relay/quarantine-admit': { params: { thread_id: string }; result: QuarantinedThread }
}

const nothing: z.ZodType<Record<string, never>> = z.strictObject({})
const target = z.strictObject({ name: shapes.id })
const thread = z.strictObject({ thread_id: shapes.id })

export const REMOVAL_METHODS: { readonly [M in keyof RemovalMethods]: Method<M> } = {
  'relay/members': { parse: (params) => check(nothing, params), run: ({ api }) => api.members() },
  'relay/remove': { parse: (params) => check(target, params), run: ({ api }, { params }) => api.remove(params) },
  'relay/quarantine': { parse: (params) => check(nothing, params), run: ({ api }) => api.listQuarantine() },
  'relay/quarantine-admit': {
    parse: (params) => check(thread, params),
    run: ({ api }, { params }) => api.admitQuarantined(params),
  },
}
