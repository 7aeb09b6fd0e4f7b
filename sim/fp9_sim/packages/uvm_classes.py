"""Templates for the UVM classes of a unit, and for the module that runs the UVM test."""

from __future__ import annotations

ITEM = """\
// UVM classes of @{name}: transaction, sequences, agent, scoreboard, environment and test.
// The scoreboard calls the golden model through DPI-C. +count=N sets the operations of each sequence, +sequence=KIND
// runs a single sequence, and +vectors=FILE names the golden vectors.
`include "uvm_macros.svh"

package @{name}_uvm_pkg;
  import uvm_pkg::*;

  // --- transaction

  class @{name}_item extends uvm_sequence_item;
    `uvm_object_utils(@{name}_item)

@{fields}
@{results}
@{timing}
    bit first;  // the first operation after a reset

    constraint short_timing { @{short} }
@{constraints}

    function new(string name = "@{name}_item");
      super.new(name);
    endfunction

    virtual function string convert2string();
      return $sformatf("@{formatted}", @{shown});
    endfunction
  endclass

"""

SEQUENCES = """\
  // --- sequences

  // Send `count` operations. A derived sequence says how an operation is chosen.
  virtual class @{name}_sequence extends uvm_sequence #(@{name}_item);
    int unsigned count = 200;

    function new(string name = "");
      super.new(name);
    endfunction

    pure virtual function bit choose();

    virtual task body();
      void'($value$plusargs("count=%d", count));
      repeat (count) begin
        req = @{name}_item::type_id::create("req");
        start_item(req);
        if (!choose()) `uvm_fatal(get_type_name(), "no operation meets the constraints")
        finish_item(req);
      end
    endtask
  endclass

@{chosen}  // The operations of the golden vectors, in order and without pauses.
  class @{name}_vector_sequence extends @{name}_sequence;
    `uvm_object_utils(@{name}_vector_sequence)

    function new(string name = "");
      super.new(name);
    endfunction

    virtual function bit choose();
      return 1;
    endfunction

    virtual task body();
      string path, line;
      int file;
      if (!$value$plusargs("vectors=%s", path)) path = "vectors/@{name}.vec";
      file = $fopen(path, "r");
      if (file == 0) `uvm_fatal("VECTORS", {path, " cannot be read; name the vectors by +vectors=FILE"})
      while ($fgets(line, file) > 0) begin
        if (line[0] == "#") continue;
        req = @{name}_item::type_id::create("req");
        start_item(req);
        if ($sscanf(line, "@{scanned}", @{lineup}) != @{count})
          `uvm_fatal("VECTORS", {path, " has a line that is no vector of @{name}: ", line})
        finish_item(req);
      end
      $fclose(file);
    endtask
  endclass

"""

CHOSEN = """\
  // @{doc}
  class @{name}_@{kind}_sequence extends @{name}_sequence;
    `uvm_object_utils(@{name}_@{kind}_sequence)

    function new(string name = "");
      super.new(name);
    endfunction

    virtual function bit choose();
      return req.randomize() with { @{timing} };
    endfunction
  endclass

"""

AGENT = """\
  // --- agent

  typedef virtual @{name}_uvm_if bus_t;
  typedef uvm_sequencer #(@{name}_item) @{name}_sequencer;

  class @{name}_driver extends uvm_driver #(@{name}_item);
    `uvm_component_utils(@{name}_driver)
    bus_t bus;
    int unsigned stall;  // clocks for which no result is taken

    function new(string name, uvm_component parent);
      super.new(name, parent);
    endfunction

    virtual task run_phase(uvm_phase phase);
      @(posedge bus.clk);
      idle();
      reset(2);
@{started}      forever begin
        seq_item_port.get_next_item(req);
        drive(req);
        seq_item_port.item_done();
      end
    endtask

    virtual task reset(int unsigned clocks);
      bus.rst <= 1;
      repeat (clocks) @(posedge bus.clk);
      bus.rst <= 0;
    endtask

    // Hold the operation until the unit takes it.
    virtual task drive(@{name}_item item);
@{reset_before}      repeat (item.pause) @(posedge bus.clk);
@{stalls}      bus.in_valid <= 1;
@{drives}
      do @(posedge bus.clk); while (bus.in_ready !== 1);
      idle();
    endtask

    virtual task idle();
      bus.in_valid <= 0;
@{idle}
    endtask
@{stalling}  endclass

  // Publish each operation with its results, in order. Operations that a reset cuts are not published.
  class @{name}_monitor extends uvm_monitor;
    `uvm_component_utils(@{name}_monitor)
    bus_t bus;
    uvm_analysis_port #(@{name}_item) operations;
    @{name}_item under_way[$];

    function new(string name, uvm_component parent);
      super.new(name, parent);
      operations = new("operations", this);
    endfunction

    virtual task run_phase(uvm_phase phase);
      @{name}_item item;
      bit first = 1;
      forever begin
        @(posedge bus.clk);
        if (bus.rst) begin
          under_way.delete();
          first = 1;
          continue;
        end
        if (bus.in_valid && bus.in_ready) begin
          item = @{name}_item::type_id::create("item");
@{takes}
          item.first = first;
          first = 0;
          under_way.push_back(item);
        end
        if (bus.out_valid && bus.out_ready) begin
          if (under_way.size() == 0) begin
            `uvm_error("MONITOR", "a result belongs to no operation")
            continue;
          end
          item = under_way.pop_front();
@{gives}
          operations.write(item);
        end
      end
    endtask

    virtual function void check_phase(uvm_phase phase);
      if (under_way.size() != 0) `uvm_error("MONITOR", $sformatf("%0d operations have no result", under_way.size()))
    endfunction
  endclass

  class @{name}_agent extends uvm_agent;
    `uvm_component_utils(@{name}_agent)
    @{name}_driver driver;
    @{name}_monitor monitor;
    @{name}_sequencer sequencer;
    uvm_analysis_port #(@{name}_item) operations;

    function new(string name, uvm_component parent);
      super.new(name, parent);
    endfunction

    virtual function void build_phase(uvm_phase phase);
      bus_t bus;
      if (!uvm_config_db#(bus_t)::get(this, "", "bus", bus))
        `uvm_fatal("AGENT", "uvm_config_db has no virtual interface `bus`")
      monitor = @{name}_monitor::type_id::create("monitor", this);
      monitor.bus = bus;
      if (get_is_active() == UVM_ACTIVE) begin
        driver = @{name}_driver::type_id::create("driver", this);
        driver.bus = bus;
        sequencer = @{name}_sequencer::type_id::create("sequencer", this);
      end
    endfunction

    virtual function void connect_phase(uvm_phase phase);
      operations = monitor.operations;
      if (get_is_active() == UVM_ACTIVE) driver.seq_item_port.connect(sequencer.seq_item_export);
    endfunction
  endclass

"""

STALLING = """\

    virtual task stall_results();
      forever begin
        bus.out_ready <= stall == 0;
        if (stall != 0) stall--;
        @(posedge bus.clk);
      end
    endtask
"""

COVERAGE = """\
  // Functional coverage of the operations that the monitor publishes.
  class @{name}_coverage_collector extends uvm_subscriber #(@{name}_item);
    `uvm_component_utils(@{name}_coverage_collector)

    function new(string name, uvm_component parent);
      super.new(name, parent);
    endfunction

    virtual function void write(@{name}_item t);
      @{name}_item item = t;
      if (item.first) @{name}_coverage::restart();
      @{name}_coverage::sample(@{sampled});
    endfunction

    virtual function void report_phase(uvm_phase phase);
      @{name}_coverage::report();
    endfunction
  endclass

"""

ENVIRONMENT = """\
  // --- environment

  // Compare each operation with the golden model.
  class @{name}_scoreboard extends uvm_scoreboard;
    `uvm_component_utils(@{name}_scoreboard)
    uvm_analysis_imp #(@{name}_item, @{name}_scoreboard) operations;
    int unsigned checked;

    function new(string name, uvm_component parent);
      super.new(name, parent);
      operations = new("operations", this);
    endfunction

    virtual function void write(@{name}_item item);
@{expects}
      longint unsigned meaning;  // bit i is 1 where output i is defined
@{restart}      @{call}(@{arguments}, meaning);
@{compares}
      checked++;
    endfunction

    virtual function void check_output(
        string port, @{name}_item item, longint unsigned found, longint unsigned expected);
      if (found !== expected)
        `uvm_error("SCOREBOARD", $sformatf("%s; %s is %0h, not %0h", item.convert2string(), port, found, expected))
    endfunction

    virtual function void check_phase(uvm_phase phase);
      if (checked == 0) `uvm_error("SCOREBOARD", "no operation was checked")
    endfunction
  endclass

@{coverage}  class @{name}_env extends uvm_env;
    `uvm_component_utils(@{name}_env)
    @{name}_agent agent;
    @{name}_scoreboard scoreboard;
@{collector}
    function new(string name, uvm_component parent);
      super.new(name, parent);
    endfunction

    virtual function void build_phase(uvm_phase phase);
      agent = @{name}_agent::type_id::create("agent", this);
      scoreboard = @{name}_scoreboard::type_id::create("scoreboard", this);
@{collects}    endfunction

    virtual function void connect_phase(uvm_phase phase);
      agent.operations.connect(scoreboard.operations);
@{collected}    endfunction
  endclass

  // Run every sequence, or the one that +sequence=KIND names.
  class @{name}_test extends uvm_test;
    `uvm_component_utils(@{name}_test)
    @{name}_env env;

    function new(string name, uvm_component parent);
      super.new(name, parent);
    endfunction

    virtual function void build_phase(uvm_phase phase);
      env = @{name}_env::type_id::create("env", this);
    endfunction

    virtual task run_phase(uvm_phase phase);
      string chosen, names[$] = '{@{names}};
      if ($value$plusargs("sequence=%s", chosen)) names = '{chosen};
      phase.raise_objection(this);
      foreach (names[i]) run_sequence(names[i]);
      phase.drop_objection(this);
    endtask

    // Run a sequence, and wait until the results of its last operations are there.
    virtual task run_sequence(string kind);
      string name = {"@{name}_", kind, "_sequence"};
      uvm_factory factory = uvm_factory::get();
      @{name}_sequence sequence_;
      if (!$cast(sequence_, factory.create_object_by_name(name, "", name)))
        `uvm_fatal("TEST", {kind, " is no kind of sequence"})
      sequence_.start(env.agent.sequencer);
      repeat (2 * (@{latency} + 10)) @(posedge env.agent.monitor.bus.clk);
    endtask

    // A failed test ends the simulator with a nonzero exit code.
    virtual function void final_phase(uvm_phase phase);
      uvm_report_server server = uvm_report_server::get_server();
      int errors = server.get_severity_count(UVM_ERROR) + server.get_severity_count(UVM_FATAL);
      if (errors != 0) $fatal(1, "FAIL: %0d errors", errors);
      $display("PASS: %0d operations", env.scoreboard.checked);
    endfunction
  endclass
endpackage
"""

BENCH = """\
// The signals of @{name} and the module that runs the UVM test. The classes sample at the rising clock edge, and drive
// by nonblocking assignments, without clocking blocks: Verilator 5.48 samples none through a virtual interface.
interface @{name}_uvm_if (input logic clk);
  logic rst = 1, in_valid = 0, out_valid;
@{ready}
@{signals}
endinterface

module @{name}_uvm_tb;
  import uvm_pkg::*;
  import @{name}_uvm_pkg::*;

  logic clk = 0;
  always #5 clk = ~clk;

  @{name}_uvm_if bus (clk);
@{valid}  @{name} unit (@{connections});

  initial begin
    uvm_config_db#(virtual @{name}_uvm_if)::set(null, "*", "bus", bus);
    run_test("@{name}_test");
  end
endmodule
"""
