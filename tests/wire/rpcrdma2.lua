-- SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
--
-- RPC-over-RDMA version two for Wireshark, on RoCE: what
-- draft-cel-nfsv4-rpcrdma-version-two-00 has, and the option of
-- Documentation/version-two.rst. Version one Wireshark knows itself.
--
--   tshark -X lua_script:rpcrdma2.lua -r FILE -Y rpcrdma2

local proto = Proto("rpcrdma2", "RPC-over-RDMA version two")

local PROCS = {
	[0] = "RDMA_MSG", "RDMA_NOMSG", "RDMA_MSGP (reserved)", "RDMA_DONE (reserved)",
	"RDMA_ERROR", "RDMA_OPTIONAL",
}
local ERRORS = { "ERR_VERS", "BAD_HEADER", "INVAL_OPTION" }
local OPTIONS = { [0x494e5600] = "INV_MSG", [0x494e5601] = "INV_NOMSG" }
local DIRECTIONS = { [0] = "Call", "Reply" }

local f = proto.fields
f.xid = ProtoField.uint32("rpcrdma2.xid", "XID", base.HEX)
f.vers = ProtoField.uint32("rpcrdma2.vers", "Version")
f.credit = ProtoField.uint32("rpcrdma2.credit", "Credits")
f.proc = ProtoField.uint32("rpcrdma2.proc", "Procedure", base.DEC, PROCS)
f.err = ProtoField.uint32("rpcrdma2.err", "Error", base.DEC, ERRORS)
f.low = ProtoField.uint32("rpcrdma2.vers_low", "Lowest version")
f.high = ProtoField.uint32("rpcrdma2.vers_high", "Highest version")
f.opttype = ProtoField.uint32("rpcrdma2.opttype", "Option", base.HEX, OPTIONS)
f.optlen = ProtoField.uint32("rpcrdma2.optlen", "Length of option data")
f.optinfo = ProtoField.bytes("rpcrdma2.optinfo", "Option data")
f.direction = ProtoField.uint32("rpcrdma2.direction", "Direction", base.DEC, DIRECTIONS)
f.inv_handle = ProtoField.uint32("rpcrdma2.inv_handle", "Handle to invalidate", base.HEX)
f.reads = ProtoField.uint32("rpcrdma2.reads", "Read segments")
f.writes = ProtoField.uint32("rpcrdma2.writes", "Write chunks")
f.replies = ProtoField.uint32("rpcrdma2.replies", "Reply chunks")
f.position = ProtoField.uint32("rpcrdma2.position", "Position")
f.segments = ProtoField.uint32("rpcrdma2.segments", "Segments of the chunk")
f.handle = ProtoField.uint32("rpcrdma2.handle", "Handle", base.HEX)
f.length = ProtoField.uint32("rpcrdma2.length", "Length")
f.offset = ProtoField.uint64("rpcrdma2.offset", "Offset", base.HEX)
f.rpc_xid = ProtoField.uint32("rpcrdma2.rpc_xid", "XID of the RPC message", base.HEX)
f.rpc_type = ProtoField.uint32("rpcrdma2.rpc_type", "RPC message", base.DEC, DIRECTIONS)
f.payload = ProtoField.uint32("rpcrdma2.payload", "Octets of RPC message")

local malformed = ProtoExpert.new("rpcrdma2.malformed", "Malformed header",
	expert.group.MALFORMED, expert.severity.ERROR)
proto.experts = { malformed }

-- A cursor over the octets [at, stop). What is missing raises an error.
local function word(c, field)
	if c.at + 4 > c.stop then error("cut off") end
	local range = c.buf(c.at, 4)
	c.at = c.at + 4
	if field then c.tree:add(field, range) end
	return range:uint()
end

local function segment(c)
	word(c, f.handle)
	word(c, f.length)
	if c.at + 8 > c.stop then error("cut off") end
	c.tree:add(f.offset, c.buf(c.at, 8))
	c.at = c.at + 8
end

local function more(c)
	local value = word(c)
	if value > 1 then error("neither 0 nor 1") end
	return value == 1
end

local function chunk(c)
	local count = word(c, f.segments)
	for _ = 1, count do segment(c) end
end

-- list(c, NUMBER, ITEM): how many items there were
local function list(c, number, item)
	local count, begin = 0, c.at
	while more(c) do
		item(c)
		count = count + 1
	end
	c.tree:add(number, c.buf(begin, c.at - begin), count)
	return count
end

local function read_segment(c)
	word(c, f.position)
	segment(c)
end

local function chunk_lists(c)
	local chunks = list(c, f.reads, read_segment) + list(c, f.writes, chunk)
	local begin, reply = c.at, more(c)
	if reply then chunk(c) end
	c.tree:add(f.replies, c.buf(begin, c.at - begin), reply and 1 or 0)
	return chunks > 0 or reply
end

-- The RPC message; whole only if there are no chunks
local function payload(c, whole)
	local left = c.buf:len() - c.at
	c.stop = c.buf:len()
	c.tree:add(f.payload, c.buf(c.at, left), left)
	if left < 8 then error("no RPC message") end
	c.tree:add(f.rpc_xid, c.buf(c.at, 4))
	c.tree:add(f.rpc_type, c.buf(c.at + 4, 4))
	if whole then
		Dissector.get("rpc"):call(c.buf(c.at):tvb(), c.pinfo, c.root)
	end
end

local function rdma_error(c)
	if word(c, f.err) == 1 then
		word(c, f.low)
		word(c, f.high)
	end
end

local function optional(c)
	local kind, length = word(c, f.opttype), word(c, f.optlen)
	if c.at + length > c.stop then error("option data cut off") end
	if not OPTIONS[kind] then
		c.tree:add(f.optinfo, c.buf(c.at, length))
		return
	end
	c.stop = c.at + length
	word(c, f.direction)
	word(c, f.inv_handle)
	local chunks = chunk_lists(c)
	if c.at ~= c.stop then error("octets behind the chunk lists") end
	if kind == 0x494e5600 then payload(c, not chunks) end
end

local function body(c, proc)
	if proc == 0 then
		payload(c, not chunk_lists(c))
	elseif proc == 1 then
		chunk_lists(c)
	elseif proc == 4 then
		rdma_error(c)
	elseif proc == 5 then
		optional(c)
	end
end

local function info(buf, proc)
	local text = PROCS[proc] or ("procedure " .. proc)
	if proc == 5 and buf:len() >= 20 then
		text = text .. " " .. (OPTIONS[buf(16, 4):uint()] or "unknown")
	elseif proc == 4 and buf:len() >= 20 then
		text = text .. " " .. (ERRORS[buf(16, 4):uint()] or "unknown")
	end
	return text
end

function proto.dissector(buf, pinfo, root)
	local tree = root:add(proto, buf())
	local c = { buf = buf, at = 0, stop = buf:len(), tree = tree, pinfo = pinfo, root = root }
	pinfo.cols.protocol = "RPCoRDMA2"
	word(c, f.xid)
	word(c, f.vers)
	word(c, f.credit)
	local proc = word(c, f.proc)
	pinfo.cols.info:append(" " .. info(buf, proc))
	local ok, why = pcall(body, c, proc)
	if not ok then tree:add_proto_expert_info(malformed, tostring(why)) end
	return buf:len()
end

-- The first packet of a Send, or its only one, with a version of 2 and a procedure
-- that is one. Those of RDMA Reads and Writes are not looked at.
local opcode = Field.new("infiniband.bth.opcode")
local SENDS = { [0] = true, [4] = true, [23] = true }

local function heuristic(buf, pinfo, root)
	local op = opcode()
	if not op or not SENDS[op.value] then return false end
	if buf:len() < 16 or buf(4, 4):uint() ~= 2 then return false end
	if buf(12, 4):uint() > 5 then return false end
	proto.dissector(buf, pinfo, root)
	return true
end

proto:register_heuristic("infiniband.payload", heuristic)
