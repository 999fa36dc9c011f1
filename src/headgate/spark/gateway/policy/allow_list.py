"""Allow list of the message types and fields of Spark Connect 4.1.4, reviewed by hand.

Names are without the prefix `spark.connect.`. A message type or field that is not listed is refused; `deny_reasons` says why.
"""

from typing import Final

_ALLOWED: Final = {
    "AddArtifactsRequest": (
        "session_id user_context client_observed_server_side_session_id client_type batch begin_chunk chunk"
    ),
    "AddArtifactsRequest.ArtifactChunk": "data crc",
    "AddArtifactsRequest.Batch": "artifacts",
    "AddArtifactsRequest.BeginChunkedArtifact": "name total_bytes num_chunks initial_chunk",
    "AddArtifactsRequest.SingleChunkArtifact": "name data",
    "Aggregate": "input group_type grouping_expressions aggregate_expressions pivot grouping_sets",
    "Aggregate.GroupingSets": "grouping_set",
    "Aggregate.Pivot": "col values",
    "AnalyzePlanRequest": (
        "session_id client_observed_server_side_session_id user_context client_type schema explain tree_string "
        "is_local is_streaming input_files spark_version ddl_parse same_semantics semantic_hash persist unpersist "
        "get_storage_level json_to_ddl"
    ),
    "AnalyzePlanRequest.DDLParse": "ddl_string",
    "AnalyzePlanRequest.Explain": "plan explain_mode",
    "AnalyzePlanRequest.GetStorageLevel": "relation",
    "AnalyzePlanRequest.InputFiles": "plan",
    "AnalyzePlanRequest.IsLocal": "plan",
    "AnalyzePlanRequest.IsStreaming": "plan",
    "AnalyzePlanRequest.JsonToDDL": "json_string",
    "AnalyzePlanRequest.Persist": "relation storage_level",
    "AnalyzePlanRequest.SameSemantics": "target_plan other_plan",
    "AnalyzePlanRequest.Schema": "plan",
    "AnalyzePlanRequest.SemanticHash": "plan",
    "AnalyzePlanRequest.SparkVersion": "",
    "AnalyzePlanRequest.TreeString": "plan level",
    "AnalyzePlanRequest.Unpersist": "relation blocking",
    "ArtifactStatusesRequest": "session_id client_observed_server_side_session_id user_context client_type names",
    "AsOfJoin": (
        "left right left_as_of right_as_of join_expr using_columns join_type tolerance allow_exact_matches direction"
    ),
    "Bools": "values",
    "CacheTable": "table_name storage_level",
    "CachedRemoteRelation": "relation_id",
    "CallFunction": "function_name arguments",
    "Catalog": (
        "current_database list_databases list_tables list_functions list_columns get_database get_table get_function "
        "database_exists table_exists function_exists create_table drop_temp_view recover_partitions is_cached "
        "cache_table uncache_table refresh_table current_catalog list_catalogs"
    ),
    "CheckpointCommand": "relation local eager storage_level",
    "ChunkedCachedLocalRelation": "dataHashes schemaHash",
    "CloneSessionRequest": (
        "session_id client_observed_server_side_session_id user_context client_type new_session_id"
    ),
    "CollectMetrics": "input name metrics",
    "Command": (
        "write_operation create_dataframe_view write_operation_v2 sql_command merge_into_table_command "
        "checkpoint_command remove_cached_remote_relation_command write_stream_operation_start "
        "streaming_query_command streaming_query_manager_command pipeline_command ml_command"
    ),
    "ConfigRequest": "session_id client_observed_server_side_session_id user_context operation client_type",
    "ConfigRequest.Get": "keys",
    "ConfigRequest.GetOption": "keys",
    "ConfigRequest.GetWithDefault": "pairs",
    "ConfigRequest.IsModifiable": "keys",
    "ConfigRequest.Operation": "set get get_with_default get_option unset is_modifiable",
    "ConfigRequest.Set": "pairs silent",
    "ConfigRequest.Unset": "keys",
    "CreateDataFrameViewCommand": "input name replace",
    "CreateTable": "table_name source description schema",
    "CurrentCatalog": "",
    "CurrentDatabase": "",
    "DataType": (
        "null binary boolean byte short integer long float double decimal string char var_char date timestamp "
        "timestamp_ntz calendar_interval year_month_interval day_time_interval array struct map variant "
        "geometry geography unparsed time udt"
    ),
    "DataType.Array": "element_type contains_null type_variation_reference",
    "DataType.Binary": "type_variation_reference",
    "DataType.Boolean": "type_variation_reference",
    "DataType.Byte": "type_variation_reference",
    "DataType.CalendarInterval": "type_variation_reference",
    "DataType.Char": "length type_variation_reference",
    "DataType.Date": "type_variation_reference",
    "DataType.DayTimeInterval": "start_field end_field type_variation_reference",
    "DataType.Decimal": "scale precision type_variation_reference",
    "DataType.Double": "type_variation_reference",
    "DataType.Float": "type_variation_reference",
    "DataType.Geography": "srid type_variation_reference",
    "DataType.Geometry": "srid type_variation_reference",
    "DataType.Integer": "type_variation_reference",
    "DataType.Long": "type_variation_reference",
    "DataType.Map": "key_type value_type value_contains_null type_variation_reference",
    "DataType.NULL": "type_variation_reference",
    "DataType.Short": "type_variation_reference",
    "DataType.String": "type_variation_reference collation",
    "DataType.Struct": "fields type_variation_reference",
    "DataType.StructField": "name data_type nullable metadata",
    "DataType.Time": "precision type_variation_reference",
    "DataType.Timestamp": "type_variation_reference",
    "DataType.TimestampNTZ": "type_variation_reference",
    "DataType.UDT": "type jvm_class python_class sql_type",
    "DataType.Unparsed": "data_type_string",
    "DataType.VarChar": "length type_variation_reference",
    "DataType.Variant": "type_variation_reference",
    "DataType.YearMonthInterval": "start_field end_field type_variation_reference",
    "DatabaseExists": "db_name",
    "Deduplicate": "input column_names all_columns_as_keys within_watermark",
    "Doubles": "values",
    "Drop": "input columns column_names",
    "DropTempView": "view_name",
    "ExecutePlanRequest": (
        "session_id client_observed_server_side_session_id user_context operation_id plan client_type "
        "request_options tags"
    ),
    "ExecutePlanRequest.RequestOption": "reattach_options result_chunking_options",
    "Expression": (
        "common literal unresolved_attribute unresolved_function expression_string unresolved_star alias cast "
        "unresolved_regex sort_order lambda_function window unresolved_extract_value update_fields "
        "unresolved_named_lambda_variable call_function named_argument_expression merge_action "
        "subquery_expression direct_shuffle_partition_id"
    ),
    "Expression.Alias": "expr name metadata",
    "Expression.Cast": "expr type type_str eval_mode",
    "Expression.DirectShufflePartitionID": "child",
    "Expression.ExpressionString": "expression",
    "Expression.LambdaFunction": "function arguments",
    "Expression.Literal": (
        "null binary boolean byte short integer long float double decimal string date timestamp timestamp_ntz "
        "calendar_interval year_month_interval day_time_interval array map struct specialized_array time "
        "data_type"
    ),
    "Expression.Literal.Array": "element_type elements",
    "Expression.Literal.CalendarInterval": "months days microseconds",
    "Expression.Literal.Decimal": "value precision scale",
    "Expression.Literal.Map": "key_type value_type keys values",
    "Expression.Literal.SpecializedArray": "bools ints longs floats doubles strings",
    "Expression.Literal.Struct": "struct_type elements",
    "Expression.Literal.Time": "nano precision",
    "Expression.SortOrder": "child direction null_ordering",
    "Expression.UnresolvedAttribute": "unparsed_identifier plan_id is_metadata_column",
    "Expression.UnresolvedExtractValue": "child extraction",
    "Expression.UnresolvedFunction": "function_name arguments is_distinct is_user_defined_function",
    "Expression.UnresolvedNamedLambdaVariable": "name_parts",
    "Expression.UnresolvedRegex": "col_name plan_id",
    "Expression.UnresolvedStar": "unparsed_target plan_id",
    "Expression.UpdateFields": "struct_expression field_name value_expression",
    "Expression.Window": "window_function partition_spec order_spec frame_spec",
    "Expression.Window.WindowFrame": "frame_type lower upper",
    "Expression.Window.WindowFrame.FrameBoundary": "current_row unbounded value",
    "ExpressionCommon": "origin",
    "Fetch": "obj_ref methods",
    "Fetch.Method": "method args",
    "Fetch.Method.Args": "param input",
    "FetchErrorDetailsRequest": "session_id client_observed_server_side_session_id user_context error_id client_type",
    "Filter": "input condition",
    "Floats": "values",
    "FunctionExists": "function_name db_name",
    "GetDatabase": "db_name",
    "GetFunction": "function_name db_name",
    "GetTable": "table_name db_name",
    "Hint": "input name parameters",
    "HtmlString": "input num_rows truncate",
    "InterruptRequest": (
        "session_id client_observed_server_side_session_id user_context client_type interrupt_type "
        "operation_tag operation_id"
    ),
    "Ints": "values",
    "IsCached": "table_name",
    "Join": "left right join_condition join_type using_columns join_data_type",
    "Join.JoinDataType": "is_left_struct is_right_struct",
    "KeyValue": "key value",
    "LateralJoin": "left right join_condition join_type",
    "Limit": "input limit",
    "ListCatalogs": "pattern",
    "ListColumns": "table_name db_name",
    "ListDatabases": "pattern",
    "ListFunctions": "db_name pattern",
    "ListTables": "db_name pattern",
    "LocalRelation": "data schema",
    "Longs": "values",
    "MergeAction": "action_type condition assignments",
    "MergeAction.Assignment": "key value",
    "MergeIntoTableCommand": (
        "target_table_name source_table_plan merge_condition match_actions not_matched_actions "
        "not_matched_by_source_actions with_schema_evolution"
    ),
    "MlCommand": "fit fetch delete evaluate clean_cache get_cache_info get_model_size",
    "MlCommand.CleanCache": "",
    "MlCommand.Delete": "obj_refs evict_only",
    "MlCommand.Evaluate": "evaluator params dataset",
    "MlCommand.Fit": "estimator params dataset",
    "MlCommand.GetCacheInfo": "",
    "MlCommand.GetModelSize": "model_ref",
    "MlOperator": "name uid type",
    "MlParams": "params",
    "MlRelation": "transform fetch",
    "MlRelation.Transform": "obj_ref transformer input params",
    "NADrop": "input cols min_non_nulls",
    "NAFill": "input cols values",
    "NAReplace": "input cols replacements",
    "NAReplace.Replacement": "old_value new_value",
    "NamedArgumentExpression": "key value",
    "ObjectRef": "id",
    "Offset": "input offset",
    "Origin": "python_origin",
    "PipelineCommand": "create_dataflow_graph drop_dataflow_graph",
    "PipelineCommand.CreateDataflowGraph": "default_catalog default_database sql_conf",
    "PipelineCommand.DropDataflowGraph": "dataflow_graph_id",
    "Plan": "root command",
    "Project": "input expressions",
    "PythonOrigin": "fragment call_site",
    "Range": "start end step num_partitions",
    "Read": "named_table data_source is_streaming",
    "Read.DataSource": "format schema options paths",
    "Read.NamedTable": "unparsed_identifier options",
    "ReattachExecuteRequest": (
        "session_id client_observed_server_side_session_id user_context operation_id client_type last_response_id"
    ),
    "ReattachOptions": "reattachable",
    "RecoverPartitions": "table_name",
    "RefreshTable": "table_name",
    "Relation": (
        "common read project filter join set_op sort limit aggregate sql local_relation sample offset "
        "deduplicate range subquery_alias repartition to_df with_columns_renamed show_string drop tail "
        "with_columns hint unpivot to_schema repartition_by_expression collect_metrics with_watermark "
        "html_string as_of_join with_relations transpose unresolved_table_valued_function lateral_join "
        "chunked_cached_local_relation cached_remote_relation fill_na drop_na replace summary crosstab describe cov corr "
        "approx_quantile freq_items sample_by catalog ml_relation"
    ),
    "RelationCommon": "source_info plan_id origin",
    "ReleaseExecuteRequest": (
        "session_id client_observed_server_side_session_id user_context operation_id client_type release_all "
        "release_until"
    ),
    "ReleaseExecuteRequest.ReleaseAll": "",
    "ReleaseExecuteRequest.ReleaseUntil": "response_id",
    "ReleaseSessionRequest": "session_id user_context client_type allow_reconnect",
    "RemoveCachedRemoteRelationCommand": "relation",
    "Repartition": "input num_partitions shuffle",
    "RepartitionByExpression": "input partition_exprs num_partitions",
    "ResultChunkingOptions": "allow_arrow_batch_chunking preferred_arrow_chunk_size",
    "SQL": "query args pos_args named_arguments pos_arguments",
    "Sample": "input lower_bound upper_bound with_replacement seed deterministic_order",
    "SetOperation": "left_input right_input set_op_type is_all by_name allow_missing_columns",
    "ShowString": "input num_rows truncate vertical",
    "Sort": "input order is_global",
    "SqlCommand": "sql args pos_args named_arguments pos_arguments input",
    "StatApproxQuantile": "input cols probabilities relative_error",
    "StatCorr": "input col1 col2 method",
    "StatCov": "input col1 col2",
    "StatCrosstab": "input col1 col2",
    "StatDescribe": "input cols",
    "StatFreqItems": "input cols support",
    "StatSampleBy": "input col fractions seed",
    "StatSampleBy.Fraction": "stratum fraction",
    "StatSummary": "input statistics",
    "StorageLevel": "use_disk use_memory use_off_heap deserialized replication",
    "StreamingQueryCommand": (
        "query_id status last_progress recent_progress stop process_all_available explain exception await_termination"
    ),
    "StreamingQueryCommand.AwaitTerminationCommand": "timeout_ms",
    "StreamingQueryCommand.ExplainCommand": "extended",
    "StreamingQueryInstanceId": "id run_id",
    "StreamingQueryManagerCommand": "active get_query await_any_termination reset_terminated",
    "StreamingQueryManagerCommand.AwaitAnyTerminationCommand": "timeout_ms",
    "Strings": "values",
    "SubqueryAlias": "input alias qualifier",
    "SubqueryExpression": "plan_id subquery_type table_arg_options in_subquery_values",
    "SubqueryExpression.TableArgOptions": "partition_spec order_spec with_single_partition",
    "TableExists": "table_name db_name",
    "Tail": "input limit",
    "ToDF": "input column_names",
    "ToSchema": "input schema",
    "Transpose": "input index_columns",
    "UncacheTable": "table_name",
    "Unpivot": "input ids values variable_column_name value_column_name",
    "Unpivot.Values": "values",
    "UnresolvedTableValuedFunction": "function_name arguments",
    "UserContext": "user_id user_name",
    "WithColumns": "input aliases",
    "WithColumnsRenamed": "input rename_columns_map renames",
    "WithColumnsRenamed.Rename": "col_name new_col_name",
    "WithRelations": "root references",
    "WithWatermark": "input event_time delay_threshold",
    "WriteOperation": (
        "input source path table mode sort_column_names partitioning_columns bucket_by options clustering_columns"
    ),
    "WriteOperation.BucketBy": "bucket_column_names num_buckets",
    "WriteOperation.SaveTable": "table_name save_method",
    "WriteOperationV2": (
        "input table_name provider partitioning_columns options table_properties mode overwrite_condition "
        "clustering_columns"
    ),
    "WriteStreamOperationStart": (
        "input format options partitioning_column_names processing_time_interval available_now once output_mode "
        "query_name table_name clustering_column_names"
    ),
}

ALLOWED: Final = {name: frozenset(fields.split()) for name, fields in _ALLOWED.items()}
"""Message type -> the fields that may be set. `rules` checks the values of the fields."""
