// Test bench: CV32E40X, the coprocessor and a memory run a program. Each operation is compared with the golden model.
//
// +program=FILE    memory image that starts at address 0
// +interrupts=N    request an interrupt N clocks after the previous one was handled; 0: no interrupts
// +stalls=1        grants and responses of the memory wait for random numbers of clocks
//
// The program stores to three words: 0x10000000 prints a character, 0x10000004 ends the simulation (0: passed), and
// 0x10000008 withdraws the interrupt request.
module bench;
  localparam int unsigned BYTES = 1 << 18;
  localparam int unsigned LIMIT = 5_000_000;  // clocks

  logic clk, rst_n;
  initial begin
    clk = 1'b0;
    forever #1 clk = !clk;
  end
  initial begin
    rst_n = 1'b0;
    repeat (5) @(negedge clk);
    rst_n = 1'b1;
  end

  // Memory
  logic [7:0] memory[BYTES];
  logic stalls;
  int unsigned period;

  initial begin
    string file;
    int handle, count;
    foreach (memory[i]) memory[i] = 8'd0;
    if (!$value$plusargs("program=%s", file)) $fatal(1, "give +program=FILE");
    handle = $fopen(file, "rb");
    if (handle == 0) $fatal(1, "cannot open %s", file);
    count = $fread(memory, handle);
    if (count == 0) $fatal(1, "%s is empty", file);
    stalls = $test$plusargs("stalls=1") != 0;
    if (!$value$plusargs("interrupts=%d", period)) period = 0;
  end

  function automatic logic [31:0] word(logic [31:0] address);
    logic [31:0] first = {address[31:2], 2'b00};
    return {memory[first + 3], memory[first + 2], memory[first + 1], memory[first]};
  endfunction

  logic fetch_req, fetch_gnt, fetch_valid, data_req, data_gnt, data_valid, data_we;
  logic [31:0] fetch_address, fetch_word, data_address, data_word, data_wdata;
  logic [3:0] data_be;

  obi_port fetch_port (.clk, .rst_n, .stalls, .req(fetch_req), .gnt(fetch_gnt), .valid(fetch_valid));
  obi_port data_port (.clk, .rst_n, .stalls, .req(data_req), .gnt(data_gnt), .valid(data_valid));

  logic interrupt;
  int unsigned waited;

  always_ff @(posedge clk) begin
    if (fetch_req && fetch_gnt) fetch_word <= word(fetch_address);
    if (!rst_n || period == 0) begin
      interrupt <= 1'b0;
      waited <= 0;
    end else if (!interrupt) begin
      interrupt <= waited == period;
      waited <= waited + 1;
    end
    if (data_req && data_gnt) begin
      if (data_address[31:28] == 4'd0) begin
        data_word <= word(data_address);
        for (int i = 0; i < 4; i++)
          if (data_we && data_be[i]) memory[{data_address[31:2], 2'(i)}] <= data_wdata[8*i+:8];
      end else if (data_we) begin
        case (data_address)
          32'h10000000: $write("%c", data_wdata[7:0]);
          32'h10000004: finish_run(data_wdata);
          32'h10000008: begin
            interrupt <= 1'b0;
            waited <= 0;
          end
          default: $fatal(1, "FAIL: store to address %h", data_address);
        endcase
      end
    end
  end

  // Core and coprocessor
  cv32e40x_if_xif #(.X_NUM_RS(3)) xif ();
  assign xif.compressed_ready = 1'b1;
  assign xif.compressed_resp = '0;
  assign xif.mem_valid = 1'b0;
  assign xif.mem_req = '0;

  xif_fpu coprocessor (.clk, .rst_n, .issue(xif), .commit(xif), .result(xif));

  cv32e40x_core #(.X_EXT(1'b1), .X_NUM_RS(3)) core (
    .clk_i(clk), .rst_ni(rst_n), .scan_cg_en_i(1'b0),
    .boot_addr_i('0), .dm_exception_addr_i('0), .dm_halt_addr_i('0), .mhartid_i('0), .mimpid_patch_i('0),
    .mtvec_addr_i('0),
    .instr_req_o(fetch_req), .instr_gnt_i(fetch_gnt), .instr_rvalid_i(fetch_valid), .instr_addr_o(fetch_address),
    .instr_memtype_o(), .instr_prot_o(), .instr_dbg_o(), .instr_rdata_i(fetch_word), .instr_err_i(1'b0),
    .data_req_o(data_req), .data_gnt_i(data_gnt), .data_rvalid_i(data_valid), .data_addr_o(data_address),
    .data_be_o(data_be), .data_we_o(data_we), .data_wdata_o(data_wdata), .data_memtype_o(), .data_prot_o(),
    .data_dbg_o(), .data_atop_o(), .data_rdata_i(data_word), .data_err_i(1'b0), .data_exokay_i(1'b0),
    .mcycle_o(), .time_i('0),
    .xif_compressed_if(xif), .xif_issue_if(xif), .xif_commit_if(xif), .xif_mem_if(xif), .xif_mem_result_if(xif),
    .xif_result_if(xif),
    .irq_i({24'b0, interrupt, 7'b0}), .wu_wfe_i(1'b0),
    .clic_irq_i(1'b0), .clic_irq_id_i('0), .clic_irq_level_i('0), .clic_irq_priv_i('0), .clic_irq_shv_i(1'b0),
    .fencei_flush_req_o(), .fencei_flush_ack_i(1'b1),
    .debug_req_i(1'b0), .debug_havereset_o(), .debug_running_o(), .debug_halted_o(), .debug_pc_valid_o(),
    .debug_pc_o(), .fetch_enable_i(1'b1), .core_sleep_o()
  );

  // Golden model: the C model computes the result of each operation that enters the unit.
  typedef struct {
    logic [31:0] result;
    logic [4:0] flags;
    logic [3:0] tag;
  } expected_t;
  expected_t expected[$];
  int unsigned clocks, operations, dropped, wrong;

  always_ff @(posedge clk) if (rst_n) begin
    clocks <= clocks + 1;
    if (clocks == LIMIT) $fatal(1, "FAIL: the program has not ended after %0d clocks", LIMIT);
    if (coprocessor.starts) begin
      longint unsigned result, flags, tag, meaning;
      fpu_zfinx_dpi::fpu_zfinx_model(
        64'(coprocessor.op), 64'(coprocessor.rs1), 64'(coprocessor.b), 64'(coprocessor.c),
        64'(coprocessor.a_format), 64'(coprocessor.b_format), 64'(coprocessor.c_format),
        64'(coprocessor.result_format), 64'(coprocessor.integer_format), 64'(coprocessor.rounding),
        64'(coprocessor.saturate), 64'(coprocessor.id), result, flags, tag, meaning);
      expected.push_back('{result[31:0], flags[4:0], tag[3:0]});
    end
    if (coprocessor.leaves) begin
      expected_t golden;
      golden = expected.pop_front();
      operations <= operations + 1;
      if (coprocessor.killed[coprocessor.tag]) dropped <= dropped + 1;
      if (coprocessor.code !== golden.result || coprocessor.flags !== golden.flags || coprocessor.tag !== golden.tag) begin
        wrong <= wrong + 1;
        if (wrong < 10)
          $display("operation %0d: result %h, flags %h, tag %h; the golden model gives %h, %h, %h", operations,
            coprocessor.code, coprocessor.flags, coprocessor.tag, golden.result, golden.flags, golden.tag);
      end
    end
  end

  function automatic void finish_run(logic [31:0] status);
    $display("%0d clocks, %0d operations, %0d of them killed, %0d differ from the golden model", clocks, operations,
      dropped, wrong);
    if (status != 0) $display("the program found %0d wrong results", status);
    if (operations == 0 || wrong != 0 || status != 0) $fatal(1, "FAIL");
    $display("PASS");
    $finish;
  endfunction
endmodule

// Handshake of the Open Bus Interface (OBI) with at most one request in flight.
module obi_port (
  input logic clk, rst_n, stalls, req,
  output logic gnt, valid
);
  logic pending, slow_grant, slow_response;

  always_ff @(posedge clk) begin
    slow_grant <= stalls && $urandom_range(3) == 0;
    slow_response <= stalls && $urandom_range(3) == 0;
    if (!rst_n) pending <= 1'b0;
    else if (req && gnt) pending <= 1'b1;
    else if (valid) pending <= 1'b0;
  end
  assign valid = pending && !slow_response;
  assign gnt = (!pending || valid) && !slow_grant;
endmodule
